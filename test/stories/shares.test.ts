import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pino } from 'pino';
import type { AttemptOrder, Outcome } from '../../src/delivery/attempt.ts';
import { AccountWrite } from '../../src/store/account.ts';
import { eventually } from '../harness/eventually.ts';
import { type Person, testService } from '../harness/service.ts';
import { startTarget } from '../harness/target.ts';
