import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Visitor } from '#test/dashboard/visitor'

/** What tests of pages look for, beside what every visitor does. */

/** By address, and read anew: what was open there is closed. */
export async function visit(visitor: Visitor, path: string): Promise<void> {
  await visitor.goTo(path)
  await visitor.page.reload()
}

/** The dialog that is open. */
export function dialogOf(page: Page): Locator {
  return page.locator('dialog[open]')
}

/** A row of a table, by what stands in it. */
export function rowOf(page: Page, text: string): Locator {
  return page.getByRole('row').filter({ hasText: text })
}

/** Frames that scroll sideways by themselves; and what only screen readers see. */
const scrolling = '.table-frame, .virtual, .graph-frame, .toolbar .filters, [role=tablist], .hidden'

/** Waits for a word of what was done; such words go away by themselves. */
export async function isTold(page: Page, text: string): Promise<void> {
  await page.locator('.toast').filter({ hasText: text }).first().waitFor()
}

/**
 * On the smallest telephone, which is a screen of 1280 at 400 %, nothing stands beyond the edge but what scrolls in a frame
 * of its own. WCAG 1.4.10.
 */
export async function fitsAPhone({ page }: Visitor): Promise<void> {
  const before = page.viewportSize() ?? { width: 1280, height: 800 }
  await page.setViewportSize({ width: 320, height: 640 })
  const beyond = await page.evaluate(
    `[...document.querySelectorAll('.shell *, .sign-in *')]
      .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && !each.closest(${JSON.stringify(scrolling)}))
      .map((each) => each.tagName + '.' + each.className)`,
  )
  await page.setViewportSize(before)
  expect(beyond).toEqual([])
}
