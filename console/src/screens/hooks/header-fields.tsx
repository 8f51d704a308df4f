import type { Hook } from '../../../../packages/sdk/src/hooks.ts';
import { Button } from '../../components/button.tsx';
import { FieldGroup, TextField } from '../../components/field.tsx';
import type { FormValues, HeaderRow } from './hook-values.ts';

/** Maximum number of headers of a hook. */
const MAX_HEADERS = 5;

const emptyRow: HeaderRow = { name: '', value: '' };

type HeaderFieldsProps = {
  readonly hook: Hook | undefined;
  readonly values: FormValues;
  readonly errorText: string | undefined;
  readonly onChange: (changes: Partial<FormValues>) => void;
};

/** Editor for the headers of a hook. The values of stored headers are unknown, so all headers are replaced together. */
export function HeaderFields({ hook, values, errorText, onChange }: HeaderFieldsProps) {
  const { headerRows } = values;
  if (headerRows === undefined) {
    const names = hook?.headers ?? [];
    const startRows = names.length === 0 ? [emptyRow] : names.map((name) => ({ name, value: '' }));
    return (
      <FieldGroup label="Custom headers" errorText={errorText}>
        <div class="row">
          <span>{names.length === 0 ? 'No headers' : names.join(', ')}</span>
          <Button onClick={() => onChange({ headerRows: startRows })}>
            {names.length === 0 ? 'Add header' : 'Replace headers'}
          </Button>
        </div>
      </FieldGroup>
    );
  }
  const replaceRow = (index: number, changes: Partial<HeaderRow>) =>
    onChange({ headerRows: headerRows.map((row, other) => (other === index ? { ...row, ...changes } : row)) });
  return (
    <FieldGroup label="Custom headers" errorText={errorText}>
      {headerRows.map((row, index) => (
        <div key={index} class="hook-header">
          <TextField
            label={`Name of header ${index + 1}`}
            isLabelHidden
            placeholder="Name"
            maxLength={64}
            autoComplete="off"
            value={row.name}
            onInput={(name) => replaceRow(index, { name })}
          />
          <TextField
            label={`Value of header ${index + 1}`}
            isLabelHidden
            placeholder="Value"
            type="password"
            maxLength={4_096}
            autoComplete="new-password"
            value={row.value}
            onInput={(value) => replaceRow(index, { value })}
          />
          <Button
            variant="quiet"
            icon="cross"
            label={`Remove header ${index + 1}`}
            onClick={() => onChange({ headerRows: headerRows.filter((_, other) => other !== index) })}
          />
        </div>
      ))}
      <div class="row">
        {headerRows.length < MAX_HEADERS && (
          <Button icon="plus" onClick={() => onChange({ headerRows: [...headerRows, emptyRow] })}>
            Add header
          </Button>
        )}
        <span class="small soft">
          For the gateway of the receiver, at most {MAX_HEADERS}. Values are never shown again.
        </span>
      </div>
    </FieldGroup>
  );
}
