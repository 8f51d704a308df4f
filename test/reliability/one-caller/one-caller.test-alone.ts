import { smokeTest } from '../smoke.ts';
import { oneCaller } from './one-caller.ts';

// This file runs after all other tests, because their load would slow down the honest calls.
smokeTest(oneCaller);
