export {
  type SeededRandom as SeededChance,
  seededRandom as chanceFrom,
} from '../../packages/chaos-receiver/src/script.ts';
