/** For properties that stand outside of `test/`, where the package is not found. */
export { default as fc } from 'fast-check';
