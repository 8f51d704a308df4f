import { type Permission, permissionAreas } from '../../../../packages/sdk/src/keys.ts';
import { Button } from '../../components/button.tsx';
import { areaNames, type Way, ways } from './permissions.ts';

type GridProps = {
  readonly chosen: readonly Permission[];
  /** Permissions that can be chosen; the others are disabled. */
  readonly among: readonly Permission[];
  readonly onChange: (chosen: readonly Permission[]) => void;
};

const headings: Readonly<Record<Way, string>> = { read: 'Read', write: 'Change' };

/** Permissions of a key: one row per area, one checkbox each for read and write. */
export function PermissionGrid({ chosen, among, onChange }: GridProps) {
  const toggle = (permission: Permission, isOn: boolean) =>
    onChange(among.filter((one) => (one === permission ? isOn : chosen.includes(one))));
  const presets = [
    { text: 'All', permissions: among },
    { text: 'Read only', permissions: among.filter((one) => one.endsWith(':read')) },
    { text: 'None', permissions: [] },
  ];
  return (
    <fieldset class="grants">
      <legend class="row spread">
        <span>What it may do</span>
        <span class="row">
          {presets.map(({ text, permissions }) => (
            <Button key={text} look="quiet" onClick={() => onChange(permissions)}>
              {text}
            </Button>
          ))}
        </span>
      </legend>
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span class="hidden-text">Area</span>
            </th>
            {ways.map((way) => (
              <th key={way} scope="col">
                {headings[way]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {permissionAreas.map((area) => (
            <tr key={area}>
              <th scope="row">
                {areaNames[area].name} <span class="small soft">{areaNames[area].says}</span>
              </th>
              {ways.map((way) => {
                const permission: Permission = `${area}:${way}`;
                return (
                  <td key={way}>
                    <input
                      type="checkbox"
                      aria-label={`${headings[way]} ${areaNames[area].name}`}
                      checked={chosen.includes(permission)}
                      disabled={!among.includes(permission)}
                      onChange={(event) => toggle(permission, event.currentTarget.checked)}
                    />
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </fieldset>
  );
}
