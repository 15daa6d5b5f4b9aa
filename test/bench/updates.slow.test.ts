import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FleetCounts } from '#bench/fleet/counts'
import { Fleet } from '#bench/fleet/fleet'
import { simultaneousDownloads, UpdateAnswers } from '#bench/fleet/updates'
import { SeededRandom } from '#bench/random'
import { sleep, until } from '#bench/time'

const image = Buffer.alloc(18 * 2 ** 20, 7)
const counts = new FleetCounts()
const link = { counts, random: new SeededRandom(1), send: () => {}, report: () => {}, restart: () => {} }

let requested: string[]
let answer: RequestListener
const server = createServer((request, response) => {
  requested.push(request.headers.range ?? '')
  answer(request, response)
})

beforeEach(async () => {
  requested = []
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})

afterEach(() => {
  server.closeAllConnections()
  server.close()
})

/** A device that downloads the image. */
function downloading(id: string): UpdateAnswers {
  const [device] = new Fleet({ devices: 1, updates: 'well' }).devices
  const answers = new UpdateAnswers(link)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const sha256 = createHash('sha256').update(image).digest('hex')
  if (device) answers.receive(device, { id, firmware: '2', hardware: '1', index: 0, url, sha256, size: image.length })
  return answers
}

test('a range has at most 4 MiB, and is counted when it is complete', async () => {
  answer = ({ headers }, response) => {
    const [from = 0, to = 0] = (headers.range ?? '').match(/\d+/g)?.map(Number) ?? []
    const range = `bytes ${from}-${to}/${image.length}`
    response.writeHead(206, { 'content-range': range }).end(image.subarray(from, to + 1))
  }
  downloading('a')
  expect(await until(() => counts.updates.installed === 1, 10_000)).toBe(true)
  expect(requested).toEqual(
    [0, 1, 2, 3, 4].map((place) => `bytes=${place * 2 ** 22}-${Math.min((place + 1) * 2 ** 22, image.length) - 1}`),
  )
  expect(counts.updates.bytes).toBe(image.length)
})

test.each([
  ['that the server does not finish', (_, response) => response.writeHead(206).write('a')],
  ['that it tries again', ({ socket }) => socket.destroy()],
] as const satisfies readonly (readonly [string, RequestListener])[])(
  'a stopped link gives up a download %s',
  async (_, broken: RequestListener) => {
    answer = broken
    const answers = downloading('b')
    expect(await until(() => requested.length > 0, 5_000)).toBe(true)
    await sleep(50)
    answers.stop()
    expect(await until(() => simultaneousDownloads.now === 0, 1_000)).toBe(true)
    const requests = requested.length
    await sleep(2_500)
    expect(requested).toHaveLength(requests)
    expect(counts.updates.unavailable).toBe(0)
  },
)
