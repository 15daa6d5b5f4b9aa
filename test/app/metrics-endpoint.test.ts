import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { metricTypeOf } from '#app/metrics/metric'
import { allMetrics } from '#app/metrics/table'
import { projectRoot } from '#bench/project-root'
import { Exposition } from '#test/app/exposition'
import { EventClient } from '#test/blackbox/event-client'
import { LinkClient } from '#test/blackbox/link-client'
import { climate, degrees, sensor } from '#test/blackbox/sensor'
import { basicHeader, identityOn, readToken, root, SignedInUser } from '#test/blackbox/signed-in-user'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

type Row = readonly [name: string, labels: Readonly<Record<string, string>>, value: number]

/** Contract 8, `/metrics`, with the dashboard and alerts in `ops`. */

const token = 'the-token-of-the-scraper'
const dashboard = read('ops/grafana/device-data-backend.json')
const alerts = read('ops/prometheus/alerts.yaml')
const noPromtool =
  spawnSync('promtool', ['--version']).status === 0
    ? undefined
    : 'SKIPPED, not passed: promtool is not installed (apt-get install prometheus)'

function read(path: string): string {
  return readFileSync(join(projectRoot, path), 'utf8')
}

/** The names of metrics in the expressions of a text: families, or series of histograms. */
function namesIn(text: string): readonly string[] {
  return [...new Set(text.match(/\b(?:ddb|process|nodejs)_[a-z_]+\b/g))]
}

function familyOf(name: string): string {
  return name.replace(/_(bucket|sum|count)$/, '')
}

describe('metrics of a server', () => {
  let server: StartedServer
  beforeAll(async () => {
    server = await StartedServer.here({ ...identityOn, METRICS_TOKEN: token })
  })
  afterAll(() => server?.finish())

  const ask = (headers: Readonly<Record<string, string>>) =>
    fetch(`http://127.0.0.1:${server.port}/metrics`, { headers })

  async function scrapeText(headers: Readonly<Record<string, string>> = {}): Promise<string> {
    const answer = await ask({ authorization: `Bearer ${token}`, ...headers })
    expect(answer.status).toBe(200)
    return answer.text()
  }
  const scrape = async () => new Exposition(await scrapeText())

  test('exactly the documented metrics are served', async () => {
    const { types, helps, samples } = await scrape()
    expect([...types]).toEqual(Object.entries(allMetrics).map(([name, metric]) => [name, metricTypeOf(name, metric)]))
    expect([...helps]).toEqual(Object.entries(allMetrics).map(([name, { help }]) => [name, help]))
    const families = samples.map(({ name }) => familyOf(name))
    expect(families.filter((family) => !types.has(family))).toEqual([])
    for (const { name, labels } of samples) {
      expect(Object.keys(labels).filter((label) => label !== 'le')).toEqual(
        Object.keys(allMetrics[familyOf(name)]?.labels ?? {}),
      )
    }
  })

  test('dashboard and alerts use only metrics that are served, and the dashboard shows all of them', async () => {
    const { types } = await scrape()
    const named = new Set(
      [...types].flatMap(([name, type]) =>
        type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name],
      ),
    )
    expect(namesIn(alerts).length).toBeGreaterThan(10)
    for (const text of [dashboard, alerts]) expect(namesIn(text).filter((name) => !named.has(name))).toEqual([])
    const shown = new Set(namesIn(dashboard).map(familyOf))
    expect([...types.keys()].filter((name) => !shown.has(name))).toEqual([])
  })

  test('panels and alerts have expressions, and alerts have descriptions', () => {
    const { panels, templating } = JSON.parse(dashboard) as {
      panels: { id: number; type: string; title: string; datasource?: { uid: string }; targets?: { expr: string }[] }[]
      templating: { list: { name: string }[] }
    }
    expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'job', 'instance'])
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    for (const { type, title, datasource, targets = [] } of panels) {
      expect(title).toMatch(/\S/)
      if (type === 'row') continue
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the format of Grafana
      expect(datasource?.uid).toBe('${datasource}')
      expect(targets.length).toBeGreaterThan(0)
      for (const { expr } of targets) expect(expr).toContain('{job=~"$job",instance=~"$instance"')
    }
    const rules = alerts.split(/^ {6}- alert: /m).slice(1)
    expect(new Set(rules.map((rule) => rule.split('\n')[0])).size).toBe(rules.length)
    for (const rule of rules) {
      expect(rule).toMatch(/^ {8}expr: \S/m)
      expect(rule).toMatch(/^ {10}severity: (page|ticket)$/m)
      expect(rule).toMatch(/^ {10}summary: \S/m)
      expect(rule).toMatch(/^ {10}description: \S.*\.$/m)
    }
  })

  test('requests, connections and changes are counted', async () => {
    const before = await scrape()
    const admin = await SignedInUser.signIn(server)
    expect((await readToken(server, { ...root, password: 'wrong' })).status).toBe(401)
    const device = await admin.makeDevice('COUNTED-1')
    const link = new LinkClient(server, 'json', undefined, basicHeader(device))
    await link.opened()
    const events = await EventClient.open(server, { offset: 'now' }, admin)
    const { flakeAddress } = await link.hello('COUNTED-1', sensor)
    await link.report(flakeAddress, 1, climate, [degrees(20), { propId: 0x2001, value: 'warm' }], [degrees(21)])
    link.send({ type: 'UPDATE', flakeAddress, seq: 3, serviceIdentifier: 'nothing', updates: [degrees(1)] })
    await link.take({ type: 'ERROR', code: 'UNKNOWN_SERVICE' })
    const isReceived = () => events.events.filter(({ type }) => type === 'OBJECT_UPDATED').length >= 2
    await until(isReceived, () => 'the reported changes')

    const during = await scrape()
    const growthOf = (name: string, labels = {}) =>
      (during.value(name, labels) ?? 0) - (before.value(name, labels) ?? 0)
    const present: readonly Row[] = [
      ['ddb_links', {}, 1],
      ['ddb_linked_devices', {}, 1],
      ['ddb_event_sockets', {}, 1],
      ['ddb_event_sockets_behind', {}, 0],
      ['ddb_store_state', { state: 'ok' }, 1],
      ['ddb_actors_awake', { kind: 'device' }, 1],
      ['ddb_commit_failures_total', {}, 0],
    ]
    expect(present.map(([name, labels]) => [name, labels, during.value(name, labels)])).toEqual(present)
    const growth: readonly Row[] = [
      ['ddb_link_frames_total', {}, 4],
      ['ddb_link_hellos_total', {}, 1],
      ['ddb_link_updates_total', {}, 2],
      ['ddb_link_changes_total', {}, 3],
      ['ddb_link_refused_frames_total', {}, 1],
      ['ddb_link_errors_total', { code: 'UNKNOWN_SERVICE' }, 1],
      ['ddb_tickets_total', { outcome: 'issued' }, 1],
      ['ddb_tickets_total', { outcome: 'used' }, 1],
      ['ddb_authentications_total', { credential: 'link', outcome: 'accepted' }, 1],
      ['ddb_sign_ins_total', { way: 'basic', outcome: 'ok' }, 1],
      ['ddb_sign_ins_total', { way: 'basic', outcome: 'unauthorized' }, 1],
      ['ddb_password_hashes_total', {}, 2],
      ['ddb_http_requests_total', { route: 'createDevice', ending: '2xx' }, 1],
      ['ddb_http_request_duration_seconds_count', { route: 'createDevice' }, 1],
      ['ddb_http_requests_total', { route: '/link', ending: '1xx' }, 1],
      ['ddb_http_refusals_total', { code: 'unauthorized', status: '401' }, 1],
      ['ddb_websockets_opened_total', { path: '/link' }, 1],
    ]
    expect(growth.map(([name, labels]) => [name, labels, growthOf(name, labels)])).toEqual(growth)
    for (const name of [
      'ddb_events_total',
      'ddb_event_deliveries_total',
      'ddb_event_delivered_bytes_total',
      'ddb_link_received_bytes_total',
      'ddb_commit_duration_seconds_count',
      'ddb_commit_events_sum',
      'ddb_commit_records_total',
      'ddb_stream_written_bytes_total',
      'ddb_stream_bytes',
      'ddb_stream_events',
      'ddb_redo_events',
      'process_cpu_seconds_total',
      'ddb_loop_active_seconds_total',
    ])
      expect(growthOf(name), name).toBeGreaterThan(0)

    await Promise.all([link.close(), events.close()])
    await until(
      async () => (await scrape()).value('ddb_websockets_closed_total', { path: '/link', code: '1005' }) === 1,
      () => 'the close to be counted',
    )
    const after = await scrape()
    expect([after.value('ddb_links'), after.value('ddb_event_sockets')]).toEqual([0, 0])
  })

  test('unusual requests add no series, and their texts are not in the metrics', async () => {
    const mark = 'zzzmarkzzz'
    const sendUnusual = async (round: number) => {
      const name = `${mark}-${round}`
      const send = (path: string, init: RequestInit = {}) =>
        fetch(`http://127.0.0.1:${server.port}${path}`, init).then((answer) => answer.arrayBuffer())
      await Promise.all([
        send(`/${name}`),
        send(`/api/v1/${name}/${name}?${name}=1`),
        send(`/api/v1/devices/${name}`, { headers: { authorization: `Bearer ${name}` } }),
        send('/api/v1/devices', { headers: { authorization: `${name} ${name}` } }),
        send('/api/v1/devices', { headers: { authorization: `DPoP ${name}`, dpop: name } }),
        send('/api/v1/devices', { headers: { 'x-api-key': name, 'user-agent': name, 'x-request-id': name } }),
        send('/api/v1/health', { method: 'POST', body: name }),
        send('/api/v1/health', { method: `X${round}` }),
        send('/api/v1/health', { headers: { origin: `http://${name}.example`, 'x-forwarded-for': name } }),
        send('/api/v1/auth/login', { method: 'POST', body: JSON.stringify({ email: name, password: name }) }),
        send('/api/v1/iam/token', { headers: basicHeader({ name, password: name }) }),
        send('/api/v1/link', { method: 'POST', headers: basicHeader({ name, password: name }), body: '{}' }),
        send(`/api/v1/events/${name}`),
        send('/metrics', { headers: { authorization: `Bearer ${name}`, accept: name } }),
        EventClient.with(server, name).refused(),
        new LinkClient(server, 'json', [`link.${name}`], basicHeader({ name, password: name })).refused(),
      ])
    }
    await sendUnusual(0)
    const once = await scrape()
    for (let round = 1; round <= 20; round++) await sendUnusual(round)
    const text = await scrapeText()
    const often = new Exposition(text)
    expect(often.series).toEqual(once.series)
    expect(new Set(often.series).size).toBe(often.series.length)
    expect(text).not.toContain(mark)
    expect(often.value('ddb_http_requests_total', { route: 'none', ending: '4xx' })).toBeGreaterThan(60)
    expect(often.value('ddb_tickets_total', { outcome: 'refused' })).toBe(21)
  })

  describe('promtool accepts', () => {
    // In CI, the tests below fail without promtool.
    beforeAll(() => {
      if (noPromtool && !process.env.CI) console.warn(noPromtool)
    })
    beforeEach((context) => {
      if (noPromtool && !process.env.CI) context.skip(noPromtool)
    })

    const promtool = (args: readonly string[], input = '') => {
      const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' })
      return { status, output: `${stdout}${stderr}` }
    }

    test.each([
      ['alert rules', ['check', 'rules', join(projectRoot, 'ops/prometheus/alerts.yaml')]],
      [
        'example configuration',
        ['check', 'config', '--syntax-only', join(projectRoot, 'ops/prometheus/prometheus.yaml')],
      ],
    ])('the %s', (_, args) => {
      expect(promtool(args)).toMatchObject({ status: 0 })
    })

    test('the text of the metrics', async () => {
      expect(promtool(['check', 'metrics'], await scrapeText())).toEqual({ status: 0, output: '' })
    })
  })
})
