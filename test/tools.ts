import { install } from './install.ts';

// Installs the tools for tests, checks and builds by test/package-lock.json, unless they are already installed.
install(new URL('./', import.meta.url));
