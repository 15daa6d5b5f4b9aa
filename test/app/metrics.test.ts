import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { metricsOf } from '#app/metrics/metrics'
import { type MetricRow, samplesBy, unlabelled } from '#app/metrics/row'
import type { MetricSources } from '#app/metrics/sources'
import { metricGroups, metricRows } from '#app/metrics/table'
import type { MetricsForm } from '#routes/metrics'
import { Histogram } from '#runtime/histogram'
import { Exposition } from '#test/app/exposition'

/** The rows of these tests use no sources. */
const noSources = {} as MetricSources

async function textOf(rows: readonly MetricRow[], form: MetricsForm = 'prometheus'): Promise<string> {
  let text = ''
  for await (const piece of metricsOf(noSources, rows).pieces(form)) text += piece
  return text
}

const about = { help: 'Help text' }

describe('the text of the metrics', () => {
  test('has the help, the type and the current value of each metric', async () => {
    let count = 3
    const rows: MetricRow[] = [
      { ...about, name: 'ddb_a_total', type: 'counter', read: () => count },
      { ...about, name: 'ddb_b', type: 'gauge', read: async () => -1.5 },
    ]
    const metrics = metricsOf(noSources, rows)
    const scrape = async () => {
      let text = ''
      for await (const piece of metrics.pieces('prometheus')) text += piece
      return text
    }
    expect(await scrape()).toBe(
      '# HELP ddb_a_total Help text\n# TYPE ddb_a_total counter\nddb_a_total 3\n' +
        '# HELP ddb_b Help text\n# TYPE ddb_b gauge\nddb_b -1.5\n',
    )
    count = 2
    expect(await scrape()).toContain('\nddb_a_total 2\n')
    expect(metrics.contentTypeOf('prometheus')).toBe('text/plain; version=0.0.4; charset=utf-8')
  })

  test('has one line for each current label value', async () => {
    let counts: Record<string, number> = { x: 1, 'y"\\\n': 2 }
    const row: MetricRow = {
      ...about,
      name: 'ddb_a',
      type: 'gauge',
      labels: { code: '' },
      read: () => samplesBy('code', counts),
    }
    expect(await textOf([row])).toContain('\nddb_a{code="x"} 1\nddb_a{code="y\\"\\\\\\n"} 2\n')
    counts = { z: 0 }
    expect(new Exposition(await textOf([row])).samples).toEqual([{ name: 'ddb_a', labels: { code: 'z' }, value: 0 }])
  })

  test('has no sample for a metric without a value', async () => {
    const row: MetricRow = { ...about, name: 'ddb_a', type: 'gauge', read: () => [] }
    expect(await textOf([row])).toBe('# HELP ddb_a Help text\n# TYPE ddb_a gauge\n')
  })

  test('has cumulative buckets of histograms', async () => {
    const histogram = new Histogram([0.1, 2])
    for (const value of [0.05, 0.1, 1, 7]) histogram.observe(value)
    const rows: MetricRow[] = [
      { ...about, name: 'ddb_a_seconds', type: 'histogram', bounds: [0.1, 2], read: () => unlabelled(histogram) },
      {
        ...about,
        name: 'ddb_b_seconds',
        type: 'histogram',
        bounds: [0.1, 2],
        labels: { route: '' },
        read: () => [{ labels: { route: 'r' }, histogram }],
      },
    ]
    const text = await textOf(rows)
    expect(text).toContain(
      '# TYPE ddb_a_seconds histogram\nddb_a_seconds_bucket{le="0.1"} 2\nddb_a_seconds_bucket{le="2"} 3\n' +
        'ddb_a_seconds_bucket{le="+Inf"} 4\nddb_a_seconds_sum 8.15\nddb_a_seconds_count 4\n',
    )
    expect(text).toContain('ddb_b_seconds_bucket{le="2",route="r"} 3\n')
    expect(text).toContain('ddb_b_seconds_sum{route="r"} 8.15\n')
  })

  test('comes in pieces, also for two readers at the same time', async () => {
    const counts = Object.fromEntries(Array.from({ length: 450 }, (_, place) => [`c${place}`, place]))
    const histogram = new Histogram([1])
    const rows: MetricRow[] = [
      { ...about, name: 'ddb_a', type: 'gauge', labels: { code: '' }, read: () => samplesBy('code', counts) },
      {
        ...about,
        name: 'ddb_b_seconds',
        type: 'histogram',
        bounds: [1],
        labels: { code: '' },
        read: () => Object.keys(counts).map((code) => ({ labels: { code }, histogram })),
      },
    ]
    const metrics = metricsOf(noSources, rows)
    const texts = ['', '']
    const both = [metrics.pieces('prometheus'), metrics.pieces('prometheus')].map((each) =>
      each[Symbol.asyncIterator](),
    )
    for (let isOver = false; !isOver; ) {
      const pieces = await Promise.all(both.map((each) => each.next()))
      isOver = pieces.every(({ done }) => done)
      for (const [place, { value = '' }] of pieces.entries()) {
        texts[place] += value
        expect(String(value).split('\n').length).toBeLessThan(150)
      }
    }
    for (const text of texts) {
      const { samples } = new Exposition(text)
      expect(samples.slice(0, 450).map(({ labels, value }) => [labels.code, value])).toEqual(Object.entries(counts))
      expect(samples.slice(450).map(({ labels }) => labels.code)).toEqual(
        Object.keys(counts).flatMap((code) => [code, code, code, code]),
      )
      expect(text.match(/^# /gm)).toHaveLength(4)
    }
  })

  test('in OpenMetrics form has families of counters without _total, and an end mark', async () => {
    const rows: MetricRow[] = [
      { ...about, name: 'ddb_a_total', type: 'counter', read: () => 1 },
      { ...about, name: 'ddb_b', type: 'gauge', read: () => 2 },
    ]
    expect(await textOf(rows, 'openmetrics')).toBe(
      '# HELP ddb_a Help text\n# TYPE ddb_a counter\nddb_a_total 1\n' +
        '# HELP ddb_b Help text\n# TYPE ddb_b gauge\nddb_b 2\n# EOF\n',
    )
    expect(metricsOf(noSources, rows).contentTypeOf('openmetrics')).toBe(
      'application/openmetrics-text; version=1.0.0; charset=utf-8',
    )
  })
})

describe('the table of metrics', () => {
  test('has unique names', () => {
    expect(new Set(metricRows.map(({ name }) => name)).size).toBe(metricRows.length)
  })

  test.each(metricRows.map((row) => [row.name, row] as const))('%s follows the conventions', (name, row) => {
    expect(name).toMatch(/^(ddb|process|nodejs)_[a-z]+(_[a-z]+)*$/)
    expect(name.endsWith('_total')).toBe(row.type === 'counter')
    expect(name).not.toMatch(/_(ms|milliseconds|micros|minutes|kb|mb|percent|count|sum|bucket)(_|$)/)
    expect(row.help).toMatch(/^\S.*[^.]$/)
    // These labels are reserved by Prometheus, or have too many values.
    for (const label of Object.keys(row.labels ?? {})) {
      expect(label).toMatch(/^[a-z_]+$/)
      expect(['le', 'quantile', 'job', 'instance', 'tenant', 'device', 'user', 'address']).not.toContain(label)
    }
    if (row.type === 'histogram') expect([...row.bounds]).toEqual([...row.bounds].sort((a, b) => a - b))
  })

  test('docs/metrics.md is up to date', () => {
    const text = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8')
    const begin = '<!-- the metrics, as test/app/metrics.test.ts expects them -->'
    const [, shown, ...more] = text.split(begin)
    expect(more).toEqual([])
    expect(shown?.split('<!-- their end -->')[0]?.trim()).toBe(documentedMetrics())
  })
})

/** All metrics as docs/metrics.md lists them. */
function documentedMetrics(): string {
  const head = ['| metric | type | meaning | labels |', '|---|---|---|---|']
  return metricGroups
    .map(({ title, rows }) => [`### ${title}`, '', ...head, ...rows.map(lineOf)].join('\n'))
    .join('\n\n')
}

function lineOf(row: MetricRow): string {
  const labels = Object.entries(row.labels ?? {}).map(([label, meaning]) => `\`${label}\`: ${meaning}`)
  const meaning = row.type === 'histogram' ? `${row.help}; up to ${row.bounds.join(', ')}` : row.help
  return `| \`${row.name}\` | ${row.type} | ${meaning} | ${labels.join('; ')} |`
}
