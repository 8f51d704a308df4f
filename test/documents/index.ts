import { behavioursDocument } from './behaviours.ts';
import { conformanceDocument } from './conformance.ts';
import { decisionsDocument } from './decisions.ts';
import { licencesDocument } from './licences.ts';
import { llmsDocument } from './llms.ts';
import type { Derived } from './markdown.ts';
import { performanceDocuments } from './performance.ts';
import { auditDocument, kindsDocument, optionsDocument, problemsDocument } from './reference.ts';
import { reliabilityDocument } from './reliability.ts';
import { documentedRoutes, fieldsDocument, routesDocument } from './routes.ts';

/** All derived documents except the SDK files; deterministic. */
export function derivedDocuments(): readonly Derived[] {
  const routes = documentedRoutes();
  return [
    { path: 'docs/conformance.md', text: conformanceDocument() },
    { path: 'docs/decisions/README.md', text: decisionsDocument() },
    { path: 'docs/reference/audit.md', text: auditDocument() },
    { path: 'packages/chaos-receiver/BEHAVIOURS.md', text: behavioursDocument() },
    { path: 'docs/reference/fields.md', text: fieldsDocument(routes) },
    { path: 'docs/reference/kinds.md', text: kindsDocument(routes) },
    { path: 'docs/reference/licences.md', text: licencesDocument() },
    { path: 'docs/reference/options.md', text: optionsDocument() },
    { path: 'docs/reference/problems.md', text: problemsDocument() },
    { path: 'docs/reference/routes.md', text: routesDocument(routes) },
    ...performanceDocuments(),
    { path: 'docs/reliability.md', text: reliabilityDocument() },
    { path: 'llms.txt', text: llmsDocument() },
  ];
}
