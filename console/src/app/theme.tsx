import { signal } from '@preact/signals';
import { Button } from '../components/button.tsx';
import { RadioGroup } from '../components/field.tsx';

type Theme = 'light' | 'dark' | 'system';

const THEME_STORAGE_KEY = 'carillon.theme';

const theme = signal<Theme>(readTheme());

function readTheme(): Theme {
  const storedTheme = localStorage.getItem(THEME_STORAGE_KEY);
  return storedTheme === 'light' || storedTheme === 'dark' ? storedTheme : 'system';
}

export function applyTheme(): void {
  if (theme.value === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

function setTheme(chosenTheme: Theme): void {
  theme.value = chosenTheme;
  if (chosenTheme === 'system') localStorage.removeItem(THEME_STORAGE_KEY);
  else localStorage.setItem(THEME_STORAGE_KEY, chosenTheme);
  applyTheme();
}

/** Radio group for the color theme: light, dark, or the theme of the operating system. */
export function ThemeChoice() {
  return (
    <RadioGroup
      label="Colours"
      value={theme.value}
      options={[
        { value: 'system', text: 'As the system' },
        { value: 'light', text: 'Light' },
        { value: 'dark', text: 'Dark' },
      ]}
      onChange={setTheme}
    />
  );
}

/** Button that switches between the light and the dark theme. */
export function ThemeButton() {
  const isDark = theme.value === 'system' ? matchMedia('(prefers-color-scheme: dark)').matches : theme.value === 'dark';
  return (
    <Button
      variant="quiet"
      icon={isDark ? 'sun' : 'moon'}
      label={isDark ? 'Light colours' : 'Dark colours'}
      onClick={() => setTheme(isDark ? 'light' : 'dark')}
    />
  );
}
