import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Visitor } from '#test/dashboard/visitor'

/** Opens a path and reloads, so that open dialogs are gone. */
export async function visit(visitor: Visitor, path: string): Promise<void> {
  await visitor.goTo(path)
  await visitor.page.reload()
}

/** The open dialog. */
export function dialogOf(page: Page): Locator {
  return page.locator('dialog[open]')
}

/** Rows of a table with this text. */
export function rowOf(page: Page, text: string): Locator {
  return page.getByRole('row').filter({ hasText: text })
}

/** Frames with their own horizontal scroll bar, and elements for screen readers only. */
const exemptSelector = '.table-frame, .virtual, .graph-frame, .toolbar .filters, [role=tablist], .hidden'

/** Waits for a toast. Toasts disappear by themselves, so wait right after the action. */
export async function seesToast(page: Page, text: string): Promise<void> {
  await page.locator('.toast').filter({ hasText: text }).first().waitFor()
}

/**
 * Expects no overflow at 320 px, which equals a screen of 1280 px at 400 % zoom, except in frames that scroll.
 * WCAG 1.4.10.
 */
export async function fitsAPhone({ page }: Visitor): Promise<void> {
  const before = page.viewportSize() ?? { width: 1280, height: 800 }
  await page.setViewportSize({ width: 320, height: 640 })
  const overflowing = () =>
    page.evaluate(
      `[...document.querySelectorAll('.shell *, .sign-in *')]
      .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && !each.closest(${JSON.stringify(exemptSelector)}))
      .map((each) => each.tagName + '.' + each.className)`,
    )
  // Charts take their new size with a later frame.
  await expect.poll(overflowing).toEqual([])
  await page.setViewportSize(before)
}

/** Holds all requests to these URLs until the returned function is called. */
export async function holdRequests(page: Page, url: string): Promise<() => void> {
  let release = () => {}
  const isReleased = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route(url, async (route) => {
    await isReleased
    await route.continue()
  })
  return release
}
