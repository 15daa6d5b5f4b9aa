import { Button } from '#dashboard/components/button'
import { observable, useObservable } from '#dashboard/components/use-observable'
import { Icon } from '#dashboard/icons'
import { readPreference, storePreference } from '#dashboard/preferences'

/** Dark or light: by system preference, until the user chooses. */

type Theme = 'system' | 'light' | 'dark'

const key = 'theme'
export const theme = observable<Theme>(storedTheme())

function setTheme(next: Theme): void {
  theme.set(next)
  storePreference(key, next === 'system' ? undefined : next)
  applyTheme()
}

export function applyTheme(): void {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
}

function storedTheme(): Theme {
  const text = readPreference(key)
  return text === 'light' || text === 'dark' ? text : 'system'
}

const successors: Readonly<Record<Theme, Theme>> = { system: 'dark', dark: 'light', light: 'system' }

/** Cycles: system, dark, light. */
export function ThemeSwitch() {
  const current = useObservable(theme)
  return (
    <Button
      kind="quiet"
      label={`Theme: ${current}. Switch to ${successors[current]}`}
      onPress={() => setTheme(successors[current])}
    >
      <Icon name={current === 'dark' ? 'moon' : current === 'light' ? 'sun' : 'half'} />
    </Button>
  )
}
