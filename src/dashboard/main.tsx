import '#dashboard/theme.css'
import '#dashboard/shell.css'
import '#dashboard/parts/parts.css'
import { render } from 'preact'
import { App } from '#dashboard/app'
import { restoreFocus } from '#dashboard/parts/focus-restoration'
import { applyTheme } from '#dashboard/theme'

applyTheme()
const place = document.getElementById('app')
if (place) {
  render(<App />, place)
  restoreFocus(place)
}
