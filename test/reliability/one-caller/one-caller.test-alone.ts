import { smokeTest } from '../smoke.ts';
import { oneCaller } from './one-caller.ts';

// Runs after all other tests, since their load would slow down the honest calls.
smokeTest(oneCaller);
