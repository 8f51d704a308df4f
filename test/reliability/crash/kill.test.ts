import { smokeTest } from '../smoke.ts';
import { kills } from './kill.ts';

smokeTest(kills);
