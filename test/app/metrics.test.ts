import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type MetricTable, metricTypeOf, samplesBy, unlabelled } from '#app/metrics/metric'
import { metricsOf } from '#app/metrics/metrics'
import type { MetricSources } from '#app/metrics/sources'
import { allMetrics, metricGroups } from '#app/metrics/table'
import type { MetricsForm } from '#routes/metrics'
import { Histogram } from '#runtime/histogram'
import { Exposition } from '#test/app/exposition'

/** The metrics of these tests use no sources. */
const noSources = {} as MetricSources

async function textOf(table: MetricTable, form: MetricsForm = 'prometheus'): Promise<string> {
  let text = ''
  for await (const piece of metricsOf(noSources, table).pieces(form)) text += piece
  return text
}

const about = { help: 'Help text' }

describe('the text of the metrics', () => {
  test('has the help, the type and the current value of each metric', async () => {
    let count = 3
    const table: MetricTable = {
      ddb_a_total: { ...about, read: () => count },
      ddb_b: { ...about, read: async () => -1.5 },
    }
    const metrics = metricsOf(noSources, table)
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
    const table = { ddb_a: { ...about, labels: { code: '' }, read: () => samplesBy('code', counts) } }
    expect(await textOf(table)).toContain('\nddb_a{code="x"} 1\nddb_a{code="y\\"\\\\\\n"} 2\n')
    counts = { z: 0 }
    expect(new Exposition(await textOf(table)).samples).toEqual([{ name: 'ddb_a', labels: { code: 'z' }, value: 0 }])
  })

  test('has no sample for a metric without a value', async () => {
    const table = { ddb_a: { ...about, read: () => [] } }
    expect(await textOf(table)).toBe('# HELP ddb_a Help text\n# TYPE ddb_a gauge\n')
  })

  test('has cumulative buckets of histograms', async () => {
    const histogram = new Histogram([0.1, 2])
    for (const value of [0.05, 0.1, 1, 7]) histogram.observe(value)
    const table: MetricTable = {
      ddb_a_seconds: { ...about, bounds: [0.1, 2], read: () => unlabelled(histogram) },
      ddb_b_seconds: {
        ...about,
        bounds: [0.1, 2],
        labels: { route: '' },
        read: () => [{ labels: { route: 'r' }, histogram }],
      },
    }
    const text = await textOf(table)
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
    const table: MetricTable = {
      ddb_a: { ...about, labels: { code: '' }, read: () => samplesBy('code', counts) },
      ddb_b_seconds: {
        ...about,
        bounds: [1],
        labels: { code: '' },
        read: () => Object.keys(counts).map((code) => ({ labels: { code }, histogram })),
      },
    }
    const metrics = metricsOf(noSources, table)
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
    const table: MetricTable = {
      ddb_a_total: { ...about, read: () => 1 },
      ddb_b: { ...about, read: () => 2 },
    }
    expect(await textOf(table, 'openmetrics')).toBe(
      '# HELP ddb_a Help text\n# TYPE ddb_a counter\nddb_a_total 1\n' +
        '# HELP ddb_b Help text\n# TYPE ddb_b gauge\nddb_b 2\n# EOF\n',
    )
    expect(metricsOf(noSources, table).contentTypeOf('openmetrics')).toBe(
      'application/openmetrics-text; version=1.0.0; charset=utf-8',
    )
  })
})

describe('the table of metrics', () => {
  test('has unique names', () => {
    const names = metricGroups.flatMap(({ metrics }) => Object.keys(metrics))
    expect(names).toEqual(Object.keys(allMetrics))
  })

  test.each(Object.entries(allMetrics))('%s follows the conventions', (name, { help, labels = {}, bounds = [] }) => {
    expect(name).toMatch(/^(ddb|process|nodejs)_[a-z]+(_[a-z]+)*$/)
    expect(name).not.toMatch(/_(ms|milliseconds|micros|minutes|kb|mb|percent|count|sum|bucket)(_|$)/)
    expect(help).toMatch(/^\S.*[^.]$/)
    // These labels are reserved by Prometheus, or have too many values.
    for (const label of Object.keys(labels)) {
      expect(label).toMatch(/^[a-z_]+$/)
      expect(['le', 'quantile', 'job', 'instance', 'tenant', 'device', 'user', 'address']).not.toContain(label)
    }
    expect(bounds).toEqual([...bounds].sort((a, b) => a - b))
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
    .map(({ title, metrics }) => [`### ${title}`, '', ...head, ...Object.entries(metrics).map(lineOf)].join('\n'))
    .join('\n\n')
}

function lineOf([name, metric]: [string, MetricTable[string]]): string {
  const labels = Object.entries(metric.labels ?? {}).map(([label, meaning]) => `\`${label}\`: ${meaning}`)
  const meaning = metric.bounds ? `${metric.help}; up to ${metric.bounds.join(', ')}` : metric.help
  return `| \`${name}\` | ${metricTypeOf(name, metric)} | ${meaning} | ${labels.join('; ')} |`
}
