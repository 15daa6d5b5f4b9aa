import { signal } from '@preact/signals'
import { keep, readKept } from '#dashboard/kept'

/** Dark or light: as the system wishes, until somebody chooses. */

export type Theme = 'system' | 'light' | 'dark'

const key = 'theme'
export const theme = signal<Theme>(kept())

export function choose(chosen: Theme): void {
  theme.value = chosen
  keep(key, chosen === 'system' ? undefined : chosen)
  applyTheme()
}

export function applyTheme(): void {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
}

function kept(): Theme {
  const text = readKept(key)
  return text === 'light' || text === 'dark' ? text : 'system'
}
