/** Re-exported for property tests outside `test/`, where the package cannot be resolved. */
export { default as fc } from 'fast-check';
