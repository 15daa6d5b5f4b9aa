// Answers: whether a page of the dashboard stays smooth at 10 000 changes a second, in Chromium: frames that took more than 50 ms, CPU of the page, its memory; with the fleet in order, sorted by a value that changes, and with one device. Does not count: reading the fleet at the start, drawing by a graphics card, a network in between. Page, server and load share the machine.
import type { Figures, Question, Round, Variant } from '#bench/harness/question'
import { ours } from '#bench/harness/servers'
import { underLoad } from '#bench/harness/under-load'
import { serviceIdentifier } from '#bench/load/fleet-link'
import type { PhaseResult } from '#bench/load/ingest'
import { noBrowser, OpenPage } from '#bench/load/open-page'

const start = ours({ DURABILITY: 'process' })
const rate = 10_000
const fleet = { devices: 10_000, links: 50, window: 64, changes: 1, properties: 10, prefix: 'LOAD', dashboards: 0 }
const timesOf = ({ isQuick }: Round) =>
  isQuick ? { warmupMs: 500, measuredMs: 1_500 } : { warmupMs: 5_000, measuredMs: 30_000 }
/** Beyond the warm-up and what is measured: the page begins and ends inside of the load. */
const marginMs = 2_000

function measured(path: (device: string) => string, devices = fleet.devices): Variant['measure'] {
  return (round) =>
    underLoad(
      start,
      'load/ingest',
      { ...fleet, devices: round.isQuick ? fleet.devices : devices },
      async (run, _load, { port }): Promise<Figures> => {
        const { warmupMs, measuredMs } = timesOf(round)
        // Of ten thousand devices each has reported once before the page is opened.
        await run<PhaseResult>({ warmupMs: 0, measuredMs: 1_500, rate })
        const [device] = (await (await fetch(`http://127.0.0.1:${port}/api/v1/devices?limit=1`)).json()) as [Named]
        const page = await OpenPage.open(`http://127.0.0.1:${port}/#${path(device.deviceIdentifier)}`)
        try {
          await page.page.locator('.connection', { hasText: 'live' }).waitFor({ timeout: 60_000 })
          const sending = run<PhaseResult>({ warmupMs, measuredMs: measuredMs + marginMs, rate })
          await page.page.waitForTimeout(warmupMs)
          const use = await page.measure(measuredMs)
          const isLive = await page.page.locator('.connection', { hasText: 'live' }).isVisible()
          const sent = await sending
          if (!isLive) throw new Error('the page was not live at the end')
          return {
            longFrames: (use.longFrames / use.seconds) * 60,
            longestMs: use.longestMs,
            framesPerSecond: use.frames / use.seconds,
            pageCpu: (use.pageCpuSeconds / use.seconds) * 100,
            browserCpu: (use.browserCpuSeconds / use.seconds) * 100,
            heapMib: use.heapBytes / 2 ** 20,
            serverCpu: (sent.serverCpuSeconds / sent.seconds) * 100,
            loadCpu: (sent.loadCpuSeconds / sent.seconds) * 100,
          }
        } finally {
          await page.close()
        }
      },
    )
}

interface Named {
  readonly deviceIdentifier: string
}

/** Page, server and load share two cores here: once a second somebody else may have the turn. */
const longFramesMax = 60
const ordered = 'the fleet, by identifier'

export const dashboard: Question = {
  leftOut: noBrowser,
  rounds: 3,
  figures: {
    longFrames: { title: 'frames > 50 ms, a minute', digits: 1 },
    longestMs: { title: 'longest frame, ms', digits: 0 },
    framesPerSecond: { title: 'frames/s', digits: 1 },
    pageCpu: { title: 'CPU of the page, %', digits: 0 },
    browserCpu: { title: 'CPU of the browser, %', digits: 0 },
    heapMib: { title: 'heap of the page, MiB', digits: 0 },
    serverCpu: { title: 'server CPU, %', digits: 0 },
    loadCpu: { title: 'load CPU, %', digits: 0 },
  },
  cases: [
    { name: ordered, variants: [{ name: 'process', measure: measured(() => '/') }] },
    {
      name: 'the fleet, sorted by a value',
      variants: [{ name: 'process', measure: measured(() => `/?sort=-property:${serviceIdentifier}/8193`) }],
    },
    {
      name: 'a fleet of 100 000, as many changes',
      variants: [{ name: 'process', measure: measured(() => '/', 100_000) }],
      roundsMax: 1,
    },
    { name: 'one device', variants: [{ name: 'process', measure: measured((device) => `/devices/${device}`) }] },
  ],
  targets: [{ case: ordered, variant: 'process', figure: 'longFrames', atMost: longFramesMax }],
}
