import { expect, test } from 'vitest'
import {
  deliveriesOf,
  newWebhookSecret,
  retryDelayMs,
  type StoredWebhook,
  type WebhookResult,
  WebhookSecret,
  WebhookUrl,
} from '#model/webhook'

test('a URL with a control character is refused', () => {
  for (const url of ['https://x.example/\0', '\u0001https://x.example', 'https://x.example/a\u009fb'])
    expect(WebhookUrl.safeParse(url).success).toBe(false)
})

test('a new secret is valid', () => {
  const secret = newWebhookSecret((byteCount) => new Uint8Array(byteCount).fill(250))
  expect(WebhookSecret.parse(secret)).toBe(secret)
  expect(secret).toMatch(/^whsec_[+/\w]{43}=$/)
})

test('attempts are made after 5 s, 30 s, 2 min, 10 min and 1 h, and then 24 times hourly', () => {
  const delays = Array.from({ length: 32 }, (_, index) => retryDelayMs(index + 1))
  const hours = Array.from({ length: 25 }, () => 3_600_000)
  expect(delays).toEqual([5_000, 30_000, 120_000, 600_000, ...hours, undefined, undefined, undefined])
})

test('the latest hundred deliveries are shown, waiting or not, without contents', () => {
  const waiting = (seq: number): StoredWebhook => ({
    ...{ seq, id: `msg_${seq}`, at: seq, device: 'A', node: 'hook' },
    ...{ value: 'x', previous: 'y', cause: { on: 'status' } },
    ...{ attempts: 2, nextAt: 5_000, result: 'timeout' },
  })
  const result = (seq: number): WebhookResult => {
    return { id: `msg_${seq}`, node: 'hook', attempts: 1, status: 'FAILED', result: 410, time: seq }
  }
  const all = Array.from({ length: 150 }, (_, index) => index + 1)
  const [even, odd] = [0, 1].map((rest) => all.filter((seq) => seq % 2 === rest)) as [number[], number[]]
  const shown = deliveriesOf(even.map(waiting), odd.map(result))
  expect(shown.map(({ time }) => time)).toEqual(all.slice(50).reverse())
  expect(shown.slice(0, 2)).toEqual([
    { id: 'msg_150', node: 'hook', status: 'WAITING', time: 150, attempts: 2, reason: 'timeout', nextAt: 5_000 },
    { id: 'msg_149', node: 'hook', status: 'FAILED', time: 149, attempts: 1, httpStatus: 410 },
  ])
})
