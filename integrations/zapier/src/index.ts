import zapier, { defineApp } from 'zapier-platform-core';
import { authentication, mustSucceed, withKey } from './connection';
import { creates } from './creates';
import { searches } from './searches';
import { triggers } from './triggers';

const app = defineApp({
  version: require('../package.json').version,
  platformVersion: zapier.version,
  authentication,
  beforeRequest: [withKey],
  afterResponse: [mustSucceed],
  triggers,
  creates,
  searches,
});

export = app;
