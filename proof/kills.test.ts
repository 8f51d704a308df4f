import { kills } from './kills.ts';
import { quick } from './quick.ts';

quick(kills);
