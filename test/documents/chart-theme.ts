export const themes = ['light', 'dark'] as const;
export type ThemeName = (typeof themes)[number];

/** Carillon is blue and thick, the others are thin. Colors differ in brightness and hue, after Okabe and Ito. */
export type Tone = 'sqlite' | 'postgresql' | 'peer' | 'green' | 'vermilion' | 'purple' | 'ochre';

export type Theme = Readonly<Record<Tone | 'background' | 'text' | 'muted' | 'grid', string>>;

export const colours: Readonly<Record<ThemeName, Theme>> = {
  light: {
    background: '#ffffff',
    text: '#1f2328',
    muted: '#59636e',
    grid: '#e4e8ec',
    sqlite: '#003f91',
    postgresql: '#2878c8',
    peer: '#a3abb3',
    green: '#00795a',
    vermilion: '#c24e00',
    purple: '#a4508b',
    ochre: '#8f6a00',
  },
  dark: {
    background: '#0d1117',
    text: '#e6edf3',
    muted: '#9198a1',
    grid: '#262c34',
    sqlite: '#4d9fff',
    postgresql: '#a8d1ff',
    peer: '#6e7681',
    green: '#2fc29a',
    vermilion: '#ff8b45',
    purple: '#dd9ac4',
    ochre: '#e5b93f',
  },
};

export const symbols: Readonly<Record<Tone, string>> = {
  sqlite: 'circle',
  postgresql: 'circle',
  peer: 'circle',
  green: 'triangle',
  vermilion: 'rect',
  purple: 'diamond',
  ochre: 'arrow',
};

export const isCarillon = (tone: Tone) => tone === 'sqlite' || tone === 'postgresql';
