import { quick } from '../smoke.ts';
import { kills } from './kill.ts';

quick(kills);
