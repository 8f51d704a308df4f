import { useState } from 'preact/hooks';
import type { FeedKind } from '../../../packages/sdk/src/api-types.ts';
import { Checkbox, FieldGroup } from '../components/field.tsx';
import { allEventTypes, type EventTypes, eventTypeGroups, splitKind } from './delivery-text.ts';

type EventTypePickerProps = {
  readonly label: string;
  /** Label of the checkbox that selects all event types. */
  readonly allLabel: string;
  readonly eventTypes: EventTypes;
  readonly errorText?: string | undefined;
  readonly onChange: (eventTypes: EventTypes) => void;
};

/** Checkboxes for event types: one row per record type, and one checkbox for all. */
export function EventTypePicker({ label, allLabel, eventTypes, errorText, onChange }: EventTypePickerProps) {
  const isAll = eventTypes.includes('*');
  // Remember the list, so that it is selected again when the checkbox for all is unchecked.
  const [lastList, setLastList] = useState<EventTypes>(isAll ? ['new_event'] : eventTypes);
  const toggle = (eventType: FeedKind, isOn: boolean) => {
    const list = allEventTypes.filter((other) => (other === eventType ? isOn : eventTypes.includes(other)));
    setLastList(list);
    onChange(list);
  };
  return (
    <FieldGroup label={label} errorText={errorText}>
      <Checkbox label={allLabel} checked={isAll} onChange={(isOn) => onChange(isOn ? ['*'] : lastList)} />
      {eventTypeGroups.map((group) => (
        <div key={group.title} class="event-type-group">
          <span class="soft" aria-hidden="true">
            {group.title}
          </span>
          <span class="row">
            {group.eventTypes.map((eventType) => (
              <Checkbox
                key={eventType}
                label={
                  <>
                    <span class="hidden-text">{group.title} </span>
                    {splitKind(eventType).verb}
                  </>
                }
                checked={isAll || eventTypes.includes(eventType)}
                disabled={isAll}
                onChange={(isOn) => toggle(eventType, isOn)}
              />
            ))}
          </span>
        </div>
      ))}
    </FieldGroup>
  );
}
