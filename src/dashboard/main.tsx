import '#dashboard/theme.css'
import '#dashboard/shell.css'
import '#dashboard/components/parts.css'
import { render } from 'preact'
import { App } from '#dashboard/app'
import { restoreFocus } from '#dashboard/components/focus-restoration'
import { applyTheme } from '#dashboard/theme'

applyTheme()
const root = document.getElementById('app')
if (root) {
  render(<App />, root)
  restoreFocus(root)
}
