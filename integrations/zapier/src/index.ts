import zapier, { defineApp } from 'zapier-platform-core';
import { addKey, authentication, requireSuccess } from './connection';
import { creates } from './creates';
import { searches } from './searches';
import { triggers } from './triggers';

const app = defineApp({
  version: require('../package.json').version,
  platformVersion: zapier.version,
  authentication,
  beforeRequest: [addKey],
  afterResponse: [requireSuccess],
  triggers,
  creates,
  searches,
});

export = app;
