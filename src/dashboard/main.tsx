import '#dashboard/theme.css'
import '#dashboard/shell.css'
import '#dashboard/components/parts.css'
import { render } from 'preact'
import { App } from '#dashboard/app'
import { applyTheme } from '#dashboard/theme'

applyTheme()
const root = document.getElementById('app')
if (root) {
  render(<App />, root)
  restoreFocus(root)
}

/**
 * When the focused element disappears, with a row or a dialog, the browser would continue at the top of the page. Moves
 * the focus to the nearest heading instead. WCAG 2.4.3.
 */
function restoreFocus(root: Element): void {
  let last: Element | undefined
  let ancestors: readonly Element[] = []
  root.addEventListener('focusin', ({ target }) => {
    last = target as Element
    ancestors = headedAncestors(last)
  })
  const update = () => {
    if (!last || last.isConnected || document.activeElement !== document.body) return
    last = undefined
    const place = ancestors.find(({ isConnected }) => isConnected)
    place?.querySelector<HTMLElement>('h1, h2')?.focus({ preventScroll: true })
  }
  new MutationObserver(update).observe(root, { childList: true, subtree: true })
}

/**
 * The surrounding elements with a heading, the innermost first. After navigation the new page sets the focus itself.
 */
function headedAncestors(element: Element): readonly Element[] {
  const place = element.closest('.section, .dialog-inside, .page')
  return place ? [place, ...(place.parentElement ? headedAncestors(place.parentElement) : [])] : []
}
