/**
 * When what had the focus is gone, with a row or a dialog, the browser begins at the top of the page again. Here the
 * heading of what it was in has it then, so that the keyboard goes on from there. WCAG 2.4.3.
 */
export function keepFocus(root: Element): void {
  let last: Element | undefined
  let around: readonly Element[] = []
  root.addEventListener('focusin', ({ target }) => {
    last = target as Element
    around = placesOf(last)
  })
  const look = () => {
    if (!last || last.isConnected || document.activeElement !== document.body) return
    last = undefined
    const place = around.find(({ isConnected }) => isConnected)
    place?.querySelector<HTMLElement>('h1, h2')?.focus({ preventScroll: true })
  }
  new MutationObserver(look).observe(root, { childList: true, subtree: true })
}

/** What has a heading, from the inside out. A page that was left says itself where it is begun. */
function placesOf(element: Element): readonly Element[] {
  const place = element.closest('.section, .dialog-inside, .page')
  return place ? [place, ...(place.parentElement ? placesOf(place.parentElement) : [])] : []
}
