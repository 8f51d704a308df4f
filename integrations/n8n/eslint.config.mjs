import { n8nCommunityNodesPlugin } from '@n8n/eslint-plugin-community-nodes';
import nodesBase from 'eslint-plugin-n8n-nodes-base';
import typescript from 'typescript-eslint';

// The rules by which n8n admits community nodes to its cloud, put together as its own `n8n-node lint` does: those of
// the older set that are off contradict the newer one.
const { recommended } = n8nCommunityNodesPlugin.configs;
const { parser } = typescript;
const older = (name, ...off) => ({
  plugins: { 'n8n-nodes-base': nodesBase },
  rules: {
    ...nodesBase.configs[name].rules,
    ...Object.fromEntries(off.map((rule) => [`n8n-nodes-base/${rule}`, 'off'])),
  },
});

export default [
  { ignores: ['dist', 'test'] },
  { files: ['**/*.ts'], languageOptions: { parser }, ...recommended },
  {
    files: ['package.json'],
    languageOptions: { parser, parserOptions: { extraFileExtensions: ['.json'] } },
    ...recommended,
  },
  { files: ['package.json'], ...older('community') },
  {
    files: ['credentials/**/*.ts'],
    ...older(
      'credentials',
      'cred-class-field-documentation-url-miscased',
      'cred-class-field-type-options-password-missing',
    ),
  },
  {
    files: ['nodes/**/*.ts'],
    ...older(
      'nodes',
      'node-class-description-inputs-wrong-regular-node',
      'node-class-description-outputs-wrong',
      'node-param-type-options-max-value-present',
    ),
  },
];
