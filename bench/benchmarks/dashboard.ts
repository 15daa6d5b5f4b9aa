// Answers: whether a page of the dashboard stays smooth at 10 000 changes a second, in Chromium: frames that took more than 50 ms, how much work was left when the load had ended, CPU of the page, its memory; with the fleet in order, sorted by a value that changes, and with one device. Does not count: reading the fleet at the start, drawing by a graphics card, a network in between. Page, server and load share the machine.

import type { Benchmark, Case, Figures, Round, Variant } from '#bench/harness/benchmark'
import { costsOf, formsOf } from '#bench/harness/load-figures'
import { standardLoad, underLoad } from '#bench/harness/running-load'
import { ours } from '#bench/harness/servers'
import { BrowserPage, noBrowser } from '#bench/load/browser-page'
import { serviceIdentifier } from '#bench/load/fleet-link'
import { firstPropId } from '#bench/load/update-template'

const rate = 10_000
const rateLeast = 0.9 * rate
const start = ours({ DURABILITY: 'process' })
const timesOf = ({ isQuick }: Round) =>
  isQuick ? { warmupMs: 500, measuredMs: 1_500 } : { warmupMs: 4_000, measuredMs: 24_000 }
/** The load lasts longer than the warm-up and the measurement: the page starts and ends during the load. */
const marginMs = 2_000

interface PageView {
  readonly path: (device: string) => string
  /** A selector that only the right page contains, for this number of devices. */
  readonly shows: (devices: number) => string
  readonly devices?: number
}

function measured({ path, shows, devices = standardLoad.devices }: PageView): Variant['measure'] {
  return (round) => {
    const load = { ...standardLoad, dashboards: 0, devices: round.isQuick ? standardLoad.devices : devices }
    return underLoad(start, load, async ({ run }, { port }): Promise<Figures> => {
      const { warmupMs, measuredMs } = timesOf(round)
      // Every device has reported before the page is opened.
      await run({ warmupMs: 0, measuredMs: 1_500, rate })
      const [device] = (await (await fetch(`http://127.0.0.1:${port}/api/v1/devices?limit=1`)).json()) as [Named]
      const opened = await BrowserPage.open(`http://127.0.0.1:${port}/#${path(device.deviceIdentifier)}`)
      try {
        const { page } = opened
        const live = page.locator('.connection', { hasText: 'live' })
        await live.waitFor({ timeout: 60_000 })
        await page.locator(shows(load.devices)).first().waitFor()
        const sending = run({ warmupMs, measuredMs: measuredMs + marginMs, rate })
        await page.waitForTimeout(warmupMs)
        const use = await opened.measure(measuredMs)
        const isLive = await live.isVisible()
        const sent = await sending
        const behindMs = await opened.untilIdle()
        const changes = sent.changes / sent.seconds
        if (!isLive) throw new Error('the page was not live at the end')
        if (!round.isQuick && changes < rateLeast) throw new Error(`the load was only ${Math.round(changes)} changes/s`)
        return {
          ...costsOf(sent),
          longFrames: (use.longFrames / use.seconds) * 60,
          longestMs: use.longestMs,
          drawnPerSecond: use.frames / use.seconds,
          behindMs,
          changes,
          pageCpu: (use.pageCpuSeconds / use.seconds) * 100,
          browserCpu: (use.browserCpuSeconds / use.seconds) * 100,
          heapMib: use.heapBytes / 2 ** 20,
        }
      } finally {
        await opened.close()
      }
    })
  }
}

interface Named {
  readonly deviceIdentifier: string
}

/** Page, server and load share two cores: once a second another process may run. */
const longFramesMax = 60
const ordered = 'the fleet, by identifier'
/** Of every device. */
const rows = (devices: number) => `.page:has-text("${devices.toLocaleString('en-US')} devices") [role=row] a`
/** The load changes only the first property in order. */
const byValue = `/?service=${serviceIdentifier}&sort=-property:${serviceIdentifier}/${firstPropId}`

/** One variant a case, so that a case is a page. */
function caseOf(name: string, view: PageView, roundsMax?: number): Case {
  return {
    name,
    variants: [{ name: 'process', measure: measured(view) }],
    ...(roundsMax !== undefined && { roundsMax }),
  }
}

/** Five minutes in all: cases without a target are measured once. */
export const dashboard: Benchmark = {
  leftOut: noBrowser,
  rounds: 3,
  figures: {
    longFrames: { title: 'frames > 50 ms, a minute', digits: 1 },
    longestMs: { title: 'longest frame, ms', digits: 0 },
    drawnPerSecond: { title: 'frames/s', digits: 1 },
    behindMs: { title: 'work left at the end, ms', digits: 0 },
    changes: { title: 'changes/s', digits: 0 },
    pageCpu: { title: 'CPU of the page, %', digits: 0 },
    browserCpu: { title: 'CPU of the browser, %', digits: 0 },
    heapMib: { title: 'heap of the page, MiB', digits: 0 },
    ...formsOf('serverCpu', 'loadCpu'),
  },
  cases: [
    caseOf(ordered, { path: () => '/', shows: rows }),
    caseOf('the fleet, sorted by a value', { path: () => byValue, shows: () => '[aria-sort=descending]' }, 1),
    caseOf('a fleet of 100 000, as many changes', { path: () => '/', shows: rows, devices: 100_000 }, 1),
    caseOf('one device', { path: (device) => `/devices/${device}`, shows: () => 'table.properties td.value' }, 1),
  ],
  targets: [{ case: ordered, variant: 'process', figure: 'longFrames', atMost: longFramesMax }],
}
