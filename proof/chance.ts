export { chanceFrom, type SeededChance } from '../packages/chaos-receiver/src/random.ts';
