import module from 'node:module';

// Preloaded into every process of a test run (see `global-setup.ts`), including npm, whose Node may be older.
const urls = JSON.parse(process.env.TEST_PACKAGES ?? '{}');
module.registerHooks?.({
  resolve: (specifier, context, next) =>
    Object.hasOwn(urls, specifier) && context.conditions.includes('import')
      ? { url: urls[specifier], format: 'module', shortCircuit: true }
      : next(specifier, context),
});
