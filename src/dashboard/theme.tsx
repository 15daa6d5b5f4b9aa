import { signal } from '@preact/signals'
import { Icon } from '#dashboard/icons'
import { Button } from '#dashboard/parts/button'
import { readPreference, storePreference } from '#dashboard/preferences'

/** Dark or light: by system preference, until the user chooses. */

export type Theme = 'system' | 'light' | 'dark'

const key = 'theme'
export const theme = signal<Theme>(kept())

function choose(chosen: Theme): void {
  theme.value = chosen
  storePreference(key, chosen === 'system' ? undefined : chosen)
  applyTheme()
}

export function applyTheme(): void {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
}

function kept(): Theme {
  const text = readPreference(key)
  return text === 'light' || text === 'dark' ? text : 'system'
}

const next: Readonly<Record<Theme, Theme>> = { system: 'dark', dark: 'light', light: 'system' }
const names: Readonly<Record<Theme, string>> = { system: 'like the system', dark: 'dark', light: 'light' }

/** Cycles: system, dark, light. */
export function ThemeSwitch() {
  const current = theme.value
  return (
    <Button
      kind="quiet"
      label={`Colours: ${names[current]}. Change to ${names[next[current]]}`}
      onPress={() => choose(next[current])}
    >
      <Icon name={current === 'dark' ? 'moon' : current === 'light' ? 'sun' : 'half'} />
    </Button>
  )
}
