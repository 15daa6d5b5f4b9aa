import { Icon } from '#dashboard/icons'
import { Button } from '#dashboard/parts/button'
import { choose, type Theme, theme } from '#dashboard/theme'

const next: Readonly<Record<Theme, Theme>> = { system: 'dark', dark: 'light', light: 'system' }
const names: Readonly<Record<Theme, string>> = { system: 'as the system', dark: 'dark', light: 'light' }

/** Goes round: as the system wishes, dark, light. */
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
