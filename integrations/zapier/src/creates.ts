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
  descriptionVerb: string;
  method: 'POST' | 'PUT';
  idFieldNameOf: (resourceType: ResourceType) => string | undefined;
  fieldsOf: (resourceType: ResourceType) => Field[];
  fixedBody?: Record<string, unknown>;
};

const actionDefinitions: readonly ActionDefinition[] = [
  {
    name: 'create',
    descriptionVerb: 'Creates',
    method: 'POST',
    idFieldNameOf: ({ parent }) => parent,
    fieldsOf: ({ creation }) => creation,
  },
  {
    name: 'update',
    descriptionVerb: 'Changes',
    method: 'PUT',
    idFieldNameOf: ({ key }) => key,
    fieldsOf: ({ change }) => change,
  },
  {
    name: 'complete',
    descriptionVerb: 'Completes',
    method: 'PUT',
    idFieldNameOf: ({ key }) => key,
    fieldsOf: () => [],
    fixedBody: { completed: 1 },
  },
];

const canBeCompleted = ({ change }: ResourceType) => change.some(({ name }) => name === 'completed');

export const creates = Object.fromEntries(
  resourceTypes.flatMap((resourceType) =>
    actionDefinitions
      .filter(({ name }) => name !== 'complete' || canBeCompleted(resourceType))
      .map((definition) => toZapierCreate(resourceType, definition))
      .map((create) => [create.key, create]),
  ),
);

function toZapierCreate(
  resourceType: ResourceType,
  { name, descriptionVerb, method, idFieldNameOf, fieldsOf, fixedBody = {} }: ActionDefinition,
): Create {
  const idName = idFieldNameOf(resourceType);
  const fields = fieldsOf(resourceType);
  const title = titleOf(resourceType.name);
  const idFields: Field[] =
    idName === undefined ? [] : [{ name: idName, says: 'Which one.', form: 'text', required: true }];
  return {
    key: `${name}_${resourceType.name}`,
    noun: title,
    display: { label: `${titleOf(name)} ${title}`, description: `${descriptionVerb} one ${resourceType.name}.` },
    operation: {
      inputFields: [...idFields, ...fields].map(toInputField),
      perform: async (z, bundle) => {
        const inputData: Record<string, unknown> = bundle.inputData;
        const id = idName === undefined ? '' : `/${encodeURIComponent(String(inputData[idName]))}`;
        const url = `${apiRootOf(z, bundle)}/${resourceType.plural}${id}`;
        const answer = await z.request({ url, method, body: { ...readInputFields(fields, inputData), ...fixedBody } });
        return toZapierRecord(resourceType, answer.data.data);
      },
      sample: toZapierRecord(resourceType, resourceType.sample),
    },
  };
}
