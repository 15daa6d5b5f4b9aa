import { authOutcomes, credentialKinds } from '#access/authenticator'
import type { Identity } from '#access/identity'
import { type MetricTable, type Sample, samplesBy, unlabelled } from '#app/metrics/metric'
import { processMetrics } from '#app/metrics/process'
import type { MetricSources } from '#app/metrics/sources'
import { storageMetrics } from '#app/metrics/storage'
import { workMetrics } from '#app/metrics/work'
import { logSecondsBounds } from '#cluster/replicated-storage'
import { endings, requestSecondsBounds } from '#http/http-metrics'
import { problemKinds } from '#model/problem'

/** Clients that use MQTT. These metrics are absent with `MQTT_PORT=off`. */
const mqttMetrics: MetricTable = {
  ddb_mqtt_connections: {
    help: 'Open MQTT connections, over TCP, TLS and websockets',
    read: ({ mqtt }) => mqtt()?.connectionCount() ?? [],
  },
  ddb_mqtt_messages_total: {
    help: 'PUBLISH packets and wills that were received',
    read: ({ mqtt }) => mqtt()?.counts.received ?? [],
  },
  ddb_mqtt_refused_total: {
    help: 'PUBLISH packets and wills that were refused',
    read: ({ mqtt }) => mqtt()?.counts.refused ?? [],
  },
}

type Status = ReturnType<NonNullable<MetricSources['cluster']>['node']['status']>

/** This node of a cluster. These metrics are absent without `NATS_URL`. */
const clusterMetrics: MetricTable = {
  ddb_cluster_owner: {
    help: 'Whether this node is the owner: 1 or 0',
    read: ofStatus(({ isOwner }) => (isOwner ? 1 : 0)),
  },
  ddb_cluster_generation: {
    help: 'Generation of the log, which rises when a node becomes the owner',
    read: ofStatus(({ generation }) => generation),
  },
  ddb_cluster_take_overs_total: {
    help: 'How often this node became the owner',
    read: ({ cluster }) => (cluster ? cluster.metrics.takeOvers : []),
  },
  ddb_cluster_nodes: {
    help: 'Nodes that this one knows to be running, itself included',
    read: ofStatus(({ nodes }) => nodes.length),
  },
  ddb_cluster_lag_entries: {
    help: 'Messages of the log that other nodes have stored, and this one has not',
    read: ofStatus(({ lag }) => lag.entries),
  },
  ddb_cluster_lag_seconds: {
    help: 'Age of the oldest message of the log that other nodes have stored, and this one has not',
    read: ofStatus(({ lag }) => lag.ms / 1000),
  },
  ddb_cluster_log_duration_seconds: {
    bounds: logSecondsBounds,
    help: 'Time until a commit of the owner has come back from the log',
    read: ({ cluster }) => (cluster ? unlabelled(cluster.metrics.logSeconds) : []),
  },
}

function ofStatus(value: (status: Status) => number) {
  return ({ cluster }: MetricSources) => (cluster ? value(cluster.node.status()) : [])
}

/** Device connections and their messages. */
const linkMetrics: MetricTable = {
  ddb_links: {
    help: 'Open connections of devices and gateways',
    read: ({ devices: { links } }) => links.linkCount,
  },
  ddb_linked_devices: {
    help: 'Devices with an open device connection',
    read: ({ devices: { links } }) => links.deviceCount,
  },
  ddb_link_frames_total: {
    help: 'Frames received on device connections',
    read: ({ devices: { links } }) => links.counts.frames,
  },
  ddb_link_received_bytes_total: {
    help: 'Bytes of frames received on device connections',
    read: ({ devices: { links } }) => links.counts.bytes,
  },
  ddb_link_updates_total: {
    help: 'UPDATE frames and MQTT messages with values that were passed to the state of their device',
    read: ({ devices: { links } }) => links.counts.updates,
  },
  ddb_link_changes_total: {
    help: 'Properties in UPDATE frames and MQTT messages that were passed to the state of their device',
    read: ({ devices: { links } }) => links.counts.changes,
  },
  ddb_link_hellos_total: {
    help: 'HELLO frames that were accepted',
    read: ({ devices: { links } }) => links.counts.hellos,
  },
  ddb_link_refused_frames_total: {
    help: 'Frames that were refused, with or without an ERROR frame',
    read: ({ devices: { links } }) => links.counts.refused,
  },
  ddb_link_errors_total: {
    help: 'ERROR frames that were sent to devices',
    labels: { code: 'the code in the ERROR frame: `BAD_MESSAGE` … `STORAGE`' },
    read: ({ devices: { links } }) => samplesBy('code', links.errors),
  },
}

/** Authentication, sign-ins and the audit. With `IAM=off` they are absent or 0, except for the audit. */
const identityMetrics: MetricTable = {
  ddb_authentications_total: {
    help: 'Authentications of requests and device connections',
    labels: {
      credential: '`bearer`, `dpop`, `api_key`, `proof` (a DPoP proof alone), `link`, `none`, `other`',
      outcome: '`accepted`, `challenged` (for a nonce), `refused`, `held_up` (too many attempts), `unavailable`',
    },
    read: ({ identity }) => (identity ? authentications(identity) : []),
  },
  ddb_sign_ins_total: {
    help: 'Attempts to sign in or to renew a session; combinations without an attempt are left out',
    labels: {
      way: '`login`, `basic`, `refresh`, `basic_refresh`, `sign_up`, `totp`, `recovery`, `webauthn`',
      outcome:
        '`ok`, `second_factor`, or the reason of the failure: `unauthorized`, `too_many_requests`, `conflict`, …',
    },
    read: ({ identity }) =>
      [...(identity?.signIns ?? [])].map(({ way, outcome, count }) => ({ labels: { way, outcome }, value: count })),
  },
  ddb_password_hashes_total: {
    help: 'Passwords that were hashed; this is done one at a time',
    read: ({ identity }) => identity?.passwords.counts.hashes ?? 0,
  },
  ddb_password_hashes_refused_total: {
    help: 'Passwords that were not hashed because too many waited',
    read: ({ identity }) => identity?.passwords.counts.refused ?? 0,
  },
  ddb_password_hashes_waiting: {
    help: 'Passwords that wait to be hashed or are being hashed',
    read: ({ identity }) => identity?.passwords.waitingCount ?? 0,
  },
  ddb_audit_entries_total: {
    help: 'Changes and sign-ins that were recorded, also refused ones',
    read: ({ audit }) => audit.counts.stored,
  },
  ddb_audit_refusals_dropped_total: {
    help: 'Refused requests that were not recorded, because there were too many',
    read: ({ audit }) => audit.counts.dropped,
  },
}

function authentications({ auth }: Identity['metrics']): readonly Sample[] {
  return credentialKinds.flatMap((credential) =>
    authOutcomes.map((outcome) => ({ labels: { credential, outcome }, value: auth[credential][outcome] })),
  )
}

const routeLabel = 'name of the route, path of a websocket, or `none` if there is no route'

/** HTTP requests and websockets. */
const callMetrics: MetricTable = {
  ddb_http_requests_total: {
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
  ddb_http_request_duration_seconds: {
    bounds: requestSecondsBounds,
    help: 'Time from the first byte of a request to the last byte of its answer',
    labels: { route: routeLabel },
    read: ({ http }) =>
      [...http.routes].flatMap(({ name: route, seconds }) =>
        seconds.count === 0 ? [] : [{ labels: { route }, histogram: seconds }],
      ),
  },
  ddb_http_requests_in_flight: {
    help: 'Requests whose answer is not complete',
    read: ({ inFlight }) => inFlight(),
  },
  ddb_http_refusals_total: {
    help: 'Requests and upgrades that were refused, or failed because of a fault of the server',
    labels: { code: 'the reason, by its name in the server', status: 'status of the answer' },
    read: ({ http }) =>
      Object.entries(problemKinds).map(([code, { status }]) => ({
        labels: { code, status: String(status) },
        value: http.refusals[code as keyof typeof problemKinds],
      })),
  },
  ddb_websockets_opened_total: {
    help: 'Websockets that were opened',
    labels: { path: 'path of the websocket' },
    read: ({ http }) => [...http.sockets].map(({ path, opened }) => ({ labels: { path }, value: opened })),
  },
  ddb_websockets_closed_total: {
    help: 'Websockets that were closed, by either side',
    labels: { path: 'path of the websocket', code: 'a standard code, a code of this server, or `other`' },
    read: ({ http }) =>
      [...http.sockets].flatMap(({ path, closed }) =>
        [...closed].map(([code, { count }]) => ({ labels: { path, code }, value: count })),
      ),
  },
}

/** Subscribers and events. */
const eventMetrics: MetricTable = {
  ddb_events_total: {
    help: 'Events that were stored and published, with or without subscribers',
    read: ({ events: { hub } }) => hub.counts.events,
  },
  ddb_event_publishes_total: {
    help: 'Published events, counted once for each class of sockets that may receive them',
    read: ({ events: { hub } }) => hub.counts.publishes,
  },
  ddb_event_deliveries_total: {
    help: 'Published events, counted once for each socket that may receive them, also for sockets that are behind',
    read: ({ events: { hub } }) => hub.counts.deliveries,
  },
  ddb_event_delivered_bytes_total: {
    help: 'Bytes of ddb_event_deliveries_total; a character beyond ASCII counts as one',
    read: ({ events: { hub } }) => hub.counts.bytes,
  },
  ddb_event_caught_up_total: {
    help: 'Events that were sent to single sockets after these had missed them',
    read: ({ events: { hub } }) => hub.counts.caughtUp,
  },
  ddb_event_sockets: {
    help: 'Open websockets of applications',
    read: ({ events: { hub } }) => hub.socketCount(),
  },
  ddb_event_sockets_behind: {
    help: 'Websockets of applications that are not live: they resume, or are too slow',
    read: ({ events: { hub } }) => hub.behindCount(),
  },
  ddb_event_sockets_fallen_total: {
    help: 'How often a live socket fell behind',
    read: ({ events: { hub } }) => hub.counts.fallen,
  },
  ddb_event_resyncs_total: {
    help: 'RESYNC messages: a socket has to read the full state again',
    read: ({ events: { hub } }) => hub.counts.resyncs,
  },
  ddb_tickets_total: {
    help: 'Tickets for the event websocket',
    labels: { outcome: '`issued`, `used`, `refused` (sent, but not valid)' },
    read: ({ events: { tickets } }) => samplesBy('outcome', tickets.counts),
  },
  ddb_tickets_waiting: {
    help: 'Tickets that were issued and are not used yet',
    read: ({ events: { tickets } }) => tickets.waitingCount,
  },
}

/** All metrics, grouped by subject, in the order of their output. */
export const metricGroups: readonly { readonly title: string; readonly metrics: MetricTable }[] = [
  { title: 'Device connections', metrics: linkMetrics },
  { title: 'MQTT', metrics: mqttMetrics },
  { title: 'Events and their subscribers', metrics: eventMetrics },
  { title: 'The store', metrics: storageMetrics },
  { title: 'The cluster', metrics: clusterMetrics },
  { title: 'Requests', metrics: callMetrics },
  { title: 'Authentication', metrics: identityMetrics },
  { title: 'Alarms, functions, mail and firmware', metrics: workMetrics },
  { title: 'The process', metrics: processMetrics },
]

export const allMetrics: MetricTable = Object.assign({}, ...metricGroups.map(({ metrics }) => metrics))
