export { chanceFrom, type SeededChance } from '../src/cli/chaos/chance.ts';
