import { authOutcomes, credentialKinds } from '#access/authenticator'
import type { Identity } from '#access/identity'
import { processRows } from '#app/metrics/process'
import { type MetricRow, type Sample, samplesBy, unlabelled } from '#app/metrics/row'
import type { MetricSources } from '#app/metrics/sources'
import { storageRows } from '#app/metrics/storage'
import { workRows } from '#app/metrics/work'
import { logSecondsBounds } from '#cluster/replicated-storage'
import { endings, requestSecondsBounds } from '#http/http-metrics'
import { problemKinds } from '#model/problem'

/** Clients that use MQTT. These metrics are absent with `MQTT_PORT=off`. */
const mqttRows: readonly MetricRow[] = [
  {
    name: 'ddb_mqtt_connections',
    type: 'gauge',
    help: 'Open MQTT connections, over TCP, TLS and websockets',
    read: ({ mqtt }) => mqtt()?.connectionCount() ?? [],
  },
  {
    name: 'ddb_mqtt_messages_total',
    type: 'counter',
    help: 'PUBLISH packets and wills that were received',
    read: ({ mqtt }) => mqtt()?.counts.received ?? [],
  },
  {
    name: 'ddb_mqtt_refused_total',
    type: 'counter',
    help: 'PUBLISH packets and wills that were refused',
    read: ({ mqtt }) => mqtt()?.counts.refused ?? [],
  },
]

type Status = ReturnType<NonNullable<MetricSources['cluster']>['node']['status']>

/** This node of a cluster. These metrics are absent without `NATS_URL`. */
const clusterRows: readonly MetricRow[] = [
  {
    name: 'ddb_cluster_owner',
    type: 'gauge',
    help: 'Whether this node is the owner: 1 or 0',
    read: ofStatus(({ isOwner }) => (isOwner ? 1 : 0)),
  },
  {
    name: 'ddb_cluster_generation',
    type: 'gauge',
    help: 'Generation of the log, which rises when a node becomes the owner',
    read: ofStatus(({ generation }) => generation),
  },
  {
    name: 'ddb_cluster_take_overs_total',
    type: 'counter',
    help: 'How often this node became the owner',
    read: ({ cluster }) => (cluster ? cluster.metrics.takeOvers : []),
  },
  {
    name: 'ddb_cluster_nodes',
    type: 'gauge',
    help: 'Nodes that this one knows to be running, itself included',
    read: ofStatus(({ nodes }) => nodes.length),
  },
  {
    name: 'ddb_cluster_lag_entries',
    type: 'gauge',
    help: 'Messages of the log that other nodes have stored, and this one has not',
    read: ofStatus(({ lag }) => lag.entries),
  },
  {
    name: 'ddb_cluster_lag_seconds',
    type: 'gauge',
    help: 'Age of the oldest message of the log that other nodes have stored, and this one has not',
    read: ofStatus(({ lag }) => lag.ms / 1000),
  },
  {
    name: 'ddb_cluster_log_duration_seconds',
    type: 'histogram',
    bounds: logSecondsBounds,
    help: 'Time until a commit of the owner has come back from the log',
    read: ({ cluster }) => (cluster ? unlabelled(cluster.metrics.logSeconds) : []),
  },
]

function ofStatus(value: (status: Status) => number) {
  return ({ cluster }: MetricSources) => (cluster ? value(cluster.node.status()) : [])
}

/** Device connections and their messages. */
const linkRows: readonly MetricRow[] = [
  {
    name: 'ddb_links',
    type: 'gauge',
    help: 'Open connections of devices and gateways',
    read: ({ devices: { links } }) => links.linkCount,
  },
  {
    name: 'ddb_linked_devices',
    type: 'gauge',
    help: 'Devices with an open device connection',
    read: ({ devices: { links } }) => links.deviceCount,
  },
  {
    name: 'ddb_link_frames_total',
    type: 'counter',
    help: 'Frames received on device connections',
    read: ({ devices: { links } }) => links.counts.frames,
  },
  {
    name: 'ddb_link_received_bytes_total',
    type: 'counter',
    help: 'Bytes of frames received on device connections',
    read: ({ devices: { links } }) => links.counts.bytes,
  },
  {
    name: 'ddb_link_updates_total',
    type: 'counter',
    help: 'UPDATE frames and MQTT messages with values that were passed to the state of their device',
    read: ({ devices: { links } }) => links.counts.updates,
  },
  {
    name: 'ddb_link_changes_total',
    type: 'counter',
    help: 'Properties in UPDATE frames and MQTT messages that were passed to the state of their device',
    read: ({ devices: { links } }) => links.counts.changes,
  },
  {
    name: 'ddb_link_hellos_total',
    type: 'counter',
    help: 'HELLO frames that were accepted',
    read: ({ devices: { links } }) => links.counts.hellos,
  },
  {
    name: 'ddb_link_refused_frames_total',
    type: 'counter',
    help: 'Frames that were refused, with or without an ERROR frame',
    read: ({ devices: { links } }) => links.counts.refused,
  },
  {
    name: 'ddb_link_errors_total',
    type: 'counter',
    help: 'ERROR frames that were sent to devices',
    labels: { code: 'the code in the ERROR frame: `BAD_MESSAGE` … `STORAGE`' },
    read: ({ devices: { links } }) => samplesBy('code', links.errors),
  },
]

/** Authentication, sign-ins and the audit. With `IAM=off` they are absent or 0, except for the audit. */
const identityRows: readonly MetricRow[] = [
  {
    name: 'ddb_authentications_total',
    type: 'counter',
    help: 'Authentications of requests and device connections',
    labels: {
      credential: '`bearer`, `dpop`, `api_key`, `proof` (a DPoP proof alone), `link`, `none`, `other`',
      outcome: '`accepted`, `challenged` (for a nonce), `refused`, `held_up` (too many attempts), `unavailable`',
    },
    read: ({ identity }) => (identity ? authentications(identity) : []),
  },
  {
    name: 'ddb_sign_ins_total',
    type: 'counter',
    help: 'Attempts to sign in or to renew a session; combinations without an attempt are left out',
    labels: {
      way: '`login`, `basic`, `refresh`, `basic_refresh`, `sign_up`, `totp`, `recovery`, `webauthn`',
      outcome:
        '`ok`, `second_factor`, or the reason of the failure: `unauthorized`, `too_many_requests`, `conflict`, …',
    },
    read: ({ identity }) =>
      [...(identity?.signIns ?? [])].map(({ way, outcome, count }) => ({ labels: { way, outcome }, value: count })),
  },
  {
    name: 'ddb_password_hashes_total',
    type: 'counter',
    help: 'Passwords that were hashed; this is done one at a time',
    read: ({ identity }) => identity?.passwords.counts.hashes ?? 0,
  },
  {
    name: 'ddb_password_hashes_refused_total',
    type: 'counter',
    help: 'Passwords that were not hashed because too many waited',
    read: ({ identity }) => identity?.passwords.counts.refused ?? 0,
  },
  {
    name: 'ddb_password_hashes_waiting',
    type: 'gauge',
    help: 'Passwords that wait to be hashed or are being hashed',
    read: ({ identity }) => identity?.passwords.waitingCount ?? 0,
  },
  {
    name: 'ddb_audit_entries_total',
    type: 'counter',
    help: 'Changes and sign-ins that were recorded, also refused ones',
    read: ({ audit }) => audit.counts.stored,
  },
  {
    name: 'ddb_audit_refusals_dropped_total',
    type: 'counter',
    help: 'Refused requests that were not recorded, because there were too many',
    read: ({ audit }) => audit.counts.dropped,
  },
]

function authentications({ auth }: Identity['metrics']): readonly Sample[] {
  return credentialKinds.flatMap((credential) =>
    authOutcomes.map((outcome) => ({ labels: { credential, outcome }, value: auth[credential][outcome] })),
  )
}

const routeLabel = 'name of the route, path of a websocket, or `none` if there is no route'

/** HTTP requests and websockets. */
const callRows: readonly MetricRow[] = [
  {
    name: 'ddb_http_requests_total',
    type: 'counter',
    help: 'Requests that were answered or interrupted; combinations without a request are left out',
    labels: { route: routeLabel, ending: '`1xx` … `5xx`, `aborted`' },
    read: ({ http }) =>
      [...http.routes].flatMap(({ name: route, ended }) =>
        endings.flatMap((ending, place) => {
          const value = ended[place] ?? 0
          return value === 0 ? [] : [{ labels: { route, ending }, value }]
        }),
      ),
  },
  {
    name: 'ddb_http_request_duration_seconds',
    type: 'histogram',
    bounds: requestSecondsBounds,
    help: 'Time from the first byte of a request to the last byte of its answer',
    labels: { route: routeLabel },
    read: ({ http }) =>
      [...http.routes].flatMap(({ name: route, seconds }) =>
        seconds.count === 0 ? [] : [{ labels: { route }, histogram: seconds }],
      ),
  },
  {
    name: 'ddb_http_requests_in_flight',
    type: 'gauge',
    help: 'Requests whose answer is not complete',
    read: ({ inFlight }) => inFlight(),
  },
  {
    name: 'ddb_http_refusals_total',
    type: 'counter',
    help: 'Requests and upgrades that were refused, or failed because of a fault of the server',
    labels: { code: 'the reason, by its name in the server', status: 'status of the answer' },
    read: ({ http }) =>
      Object.entries(problemKinds).map(([code, { status }]) => ({
        labels: { code, status: String(status) },
        value: http.refusals[code as keyof typeof problemKinds],
      })),
  },
  {
    name: 'ddb_websockets_opened_total',
    type: 'counter',
    help: 'Websockets that were opened',
    labels: { path: 'path of the websocket' },
    read: ({ http }) => [...http.sockets].map(({ path, opened }) => ({ labels: { path }, value: opened })),
  },
  {
    name: 'ddb_websockets_closed_total',
    type: 'counter',
    help: 'Websockets that were closed, by either side',
    labels: { path: 'path of the websocket', code: 'a standard code, a code of this server, or `other`' },
    read: ({ http }) =>
      [...http.sockets].flatMap(({ path, closed }) =>
        [...closed].map(([code, { count }]) => ({ labels: { path, code }, value: count })),
      ),
  },
]

/** Subscribers and events. */
const eventRows: readonly MetricRow[] = [
  {
    name: 'ddb_events_total',
    type: 'counter',
    help: 'Events that were stored and published, with or without subscribers',
    read: ({ events: { hub } }) => hub.counts.events,
  },
  {
    name: 'ddb_event_publishes_total',
    type: 'counter',
    help: 'Published events, counted once for each class of sockets that may receive them',
    read: ({ events: { hub } }) => hub.counts.publishes,
  },
  {
    name: 'ddb_event_deliveries_total',
    type: 'counter',
    help: 'Published events, counted once for each socket that may receive them, also for sockets that are behind',
    read: ({ events: { hub } }) => hub.counts.deliveries,
  },
  {
    name: 'ddb_event_delivered_bytes_total',
    type: 'counter',
    help: 'Bytes of ddb_event_deliveries_total; a character beyond ASCII counts as one',
    read: ({ events: { hub } }) => hub.counts.bytes,
  },
  {
    name: 'ddb_event_caught_up_total',
    type: 'counter',
    help: 'Events that were sent to single sockets after these had missed them',
    read: ({ events: { hub } }) => hub.counts.caughtUp,
  },
  {
    name: 'ddb_event_sockets',
    type: 'gauge',
    help: 'Open websockets of applications',
    read: ({ events: { hub } }) => hub.socketCount(),
  },
  {
    name: 'ddb_event_sockets_behind',
    type: 'gauge',
    help: 'Websockets of applications that are not live: they resume, or are too slow',
    read: ({ events: { hub } }) => hub.behindCount(),
  },
  {
    name: 'ddb_event_sockets_fallen_total',
    type: 'counter',
    help: 'How often a live socket fell behind',
    read: ({ events: { hub } }) => hub.counts.fallen,
  },
  {
    name: 'ddb_event_resyncs_total',
    type: 'counter',
    help: 'RESYNC messages: a socket has to read the full state again',
    read: ({ events: { hub } }) => hub.counts.resyncs,
  },
  {
    name: 'ddb_tickets_total',
    type: 'counter',
    help: 'Tickets for the event websocket',
    labels: { outcome: '`issued`, `used`, `refused` (sent, but not valid)' },
    read: ({ events: { tickets } }) => samplesBy('outcome', tickets.counts),
  },
  {
    name: 'ddb_tickets_waiting',
    type: 'gauge',
    help: 'Tickets that were issued and are not used yet',
    read: ({ events: { tickets } }) => tickets.waitingCount,
  },
]

/** All metrics, grouped by subject, in the order of their output. */
export const metricGroups: readonly { readonly title: string; readonly rows: readonly MetricRow[] }[] = [
  { title: 'Device connections', rows: linkRows },
  { title: 'MQTT', rows: mqttRows },
  { title: 'Events and their subscribers', rows: eventRows },
  { title: 'The store', rows: storageRows },
  { title: 'The cluster', rows: clusterRows },
  { title: 'Requests', rows: callRows },
  { title: 'Authentication', rows: identityRows },
  { title: 'Alarms, functions, mail and firmware', rows: workRows },
  { title: 'The process', rows: processRows },
]

export const metricRows: readonly MetricRow[] = metricGroups.flatMap(({ rows }) => rows)
