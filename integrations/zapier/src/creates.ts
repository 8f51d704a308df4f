import type { Create } from 'zapier-platform-core';
import { apiRootOf } from './connection';
import { readInputFields, toInputField } from './inputs';
import { type Field, type ResourceType, resourceTypes, titleOf, toZapierRecord } from './table';

/**
 * An action that every resource type can offer. `idFieldNameOf` returns the name of the input field for the id in the
 * path, and `fixedBody` is the part of the body that does not depend on the input.
 */
type ActionDefinition = {
  name: string;
  says: string;
  method: 'POST' | 'PUT';
  idOf: (resourceType: ResourceType) => string | undefined;
  fieldsOf: (resourceType: ResourceType) => Field[];
  body?: Record<string, unknown>;
};

const actionDefinitions: readonly ActionDefinition[] = [
  {
    name: 'create',
    says: 'Creates',
    method: 'POST',
    idOf: ({ parent }) => parent,
    fieldsOf: ({ creation }) => creation,
  },
  { name: 'update', says: 'Changes', method: 'PUT', idOf: ({ key }) => key, fieldsOf: ({ change }) => change },
  {
    name: 'complete',
    says: 'Completes',
    method: 'PUT',
    idOf: ({ key }) => key,
    fieldsOf: () => [],
    body: { completed: 1 },
  },
];

const canBeCompleted = ({ change }: ResourceType) => change.some(({ name }) => name === 'completed');

export const creates = Object.fromEntries(
  resourceTypes.flatMap((resourceType) =>
    actionDefinitions
      .filter(({ name }) => name !== 'complete' || canBeCompleted(resourceType))
      .map((verb) => toZapierCreate(resourceType, verb))
      .map((create) => [create.key, create]),
  ),
);

function toZapierCreate(
  resourceType: ResourceType,
  { name, says, method, idOf, fieldsOf, body = {} }: ActionDefinition,
): Create {
  const idName = idOf(resourceType);
  const fields = fieldsOf(resourceType);
  const title = titleOf(resourceType.name);
  const idField: Field[] =
    idName === undefined ? [] : [{ name: idName, says: 'Which one.', form: 'text', required: true }];
  return {
    key: `${name}_${resourceType.name}`,
    noun: title,
    display: { label: `${titleOf(name)} ${title}`, description: `${says} one ${resourceType.name}.` },
    operation: {
      inputFields: [...idField, ...fields].map(toInputField),
      perform: async (z, bundle) => {
        const inputData: Record<string, unknown> = bundle.inputData;
        const id = idName === undefined ? '' : `/${encodeURIComponent(String(inputData[idName]))}`;
        const url = `${apiRootOf(z, bundle)}/${resourceType.plural}${id}`;
        const answer = await z.request({ url, method, body: { ...readInputFields(fields, inputData), ...body } });
        return toZapierRecord(resourceType, answer.data.data);
      },
      sample: toZapierRecord(resourceType, resourceType.sample),
    },
  };
}
