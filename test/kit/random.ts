export { type SeededRandom, seededRandom } from '../../packages/chaos-receiver/src/random.ts';
