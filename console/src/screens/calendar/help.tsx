import { Dialog } from '../../components/dialog.tsx';

const KEYS: readonly (readonly [keys: string, action: string])[] = [
  ['← → ↑ ↓', 'Go from day to day'],
  ['Enter', 'Go to what is on the day; on an empty day, make an event; on an event, open it'],
  ['↑ ↓', 'On an event: go to the others of its day'],
  ['Esc', 'Back to the day'],
  ['n', 'New event on this day'],
  ['q', 'Add an event in one line'],
  ['e', 'Edit the event'],
  ['c', 'Duplicate the event'],
  ['Delete', 'Delete the event'],
  ['Shift ← →', 'Move the event by a day; with ↑ ↓ by a week'],
  ['Alt Shift ← →', 'End the event a day earlier or later'],
  ['j k', 'Next and previous; so do Page Down and Page Up'],
  ['t', 'Today'],
  ['m w d l', 'Month, week, day, list'],
  ['/', 'Search'],
  ['?', 'These keys'],
];

/** Dialog that lists the keyboard shortcuts. */
export function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keys of the calendar" onClose={onClose}>
      <dl class="keys">
        {KEYS.map(([keys, action]) => (
          <div key={action}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key} class="key">
                  {key}
                </kbd>
              ))}
            </dt>
            <dd>{action}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
