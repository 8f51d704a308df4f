import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAxeViolations, startConsole } from '../kit/network/browser.ts';

const ICS = [
  ...['BEGIN:VCALENDAR', 'BEGIN:VEVENT', 'UID:1', 'DTSTART;VALUE=DATE:20270131', 'SUMMARY:Cast the bell'],
  ...['LOCATION:<b>Hall</b>', 'END:VEVENT', 'END:VCALENDAR', ''],
].join('\r\n');

test('X9 a subscription URL is created, shown once and revoked; an .ics file is imported with a report of ignored properties', async (t) => {
  const { owner, page } = await startConsole(t, { path: 'calendar?date=2027-01-31' });
  await page.getByRole('button', { name: 'Subscribe or import' }).click();
  await page.getByLabel('What it shows').selectOption('account');
  await page.getByLabel('What it is for').fill('Telephone');
  await page.getByRole('button', { name: 'Make an address' }).click();
  const url = (await page.getByRole('figure', { name: 'The address' }).locator('pre').textContent()) ?? '';
  assert.equal((await fetch(url)).status, 200);
  const [calendar] = (await owner.carillon.calendars.list()).data;
  // The calendar has the time zone of the browser, so that Google shows the intended times.
  const zone = await page.evaluate('new Intl.DateTimeFormat().resolvedOptions().timeZone');
  assert.deepEqual([calendar?.label, calendar?.scope, calendar?.time_zone], ['Telephone', 'account', zone]);
  assert.deepEqual(await findAxeViolations(page, 'exchange'), []);
  // An accidental click on the backdrop does not close the dialog.
  await page.mouse.click(5, 5);
  await page.getByRole('button', { name: 'I have copied it' }).click();
  assert.ok(!(await page.content()).includes(url));
  await page.getByRole('list', { name: 'Addresses' }).getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('Telephone').waitFor({ state: 'detached' });
  assert.equal((await fetch(url)).status, 404);

  await page.getByRole('button', { name: 'Import .ics' }).click();
  await page
    .getByLabel('The file')
    .setInputFiles({ name: 'x.ics', mimeType: 'text/calendar', buffer: Buffer.from('no') });
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await page.getByText('must be the text of an .ics file').waitFor();
  const latin1 = Buffer.from(ICS.replace('Cast', 'K\xf6ln'), 'latin1');
  await page.getByLabel('The file').setInputFiles({ name: 'l.ics', mimeType: 'text/calendar', buffer: latin1 });
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await page.getByText('l.ics is not in UTF-8').waitFor();
  await page
    .getByLabel('The file')
    .setInputFiles({ name: 'b.ics', mimeType: 'text/calendar', buffer: Buffer.from(ICS) });
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await page.getByText('1 created, 0 changed').waitFor();
  await page.getByText('What was left out').click();
  await page.getByText('1 × LOCATION.').waitFor();
  assert.deepEqual(await findAxeViolations(page, 'exchange'), []);
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByText('Cast the bell').first().waitFor();
});
