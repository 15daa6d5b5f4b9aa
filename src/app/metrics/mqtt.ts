import type { MetricRow } from '#app/metrics/row'

/** Clients that use MQTT. These metrics are absent with `MQTT_PORT=off`. */
export const mqttRows: readonly MetricRow[] = [
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
