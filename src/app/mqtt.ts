import { readFile } from 'node:fs/promises'
import type { Assembly } from '#app/assembly'
import { type Config, configExitCode } from '#app/config'
import type { Log } from '#app/log'
import type { MqttMetrics } from '#app/metrics/sources'
import type { AnyWebsocketRoute } from '#http/call'
import { CannotListen } from '#http/server'
import { Connections } from '#mqtt/connections'
import { principalFinder } from '#mqtt/credentials'
import { ForwardedConnection } from '#mqtt/forwarded-connection'
import { type Listener, listen, mqttSocket, type TlsFiles } from '#mqtt/listener'
import { Topics } from '#mqtt/topics'
import type { Transport } from '#mqtt/transport'

/** A setting for MQTT that cannot be used on this machine; the message names it. */
export class MqttSettingFailure extends Error {}

/** The exit code for an error during the start. */
export function exitCodeOf(error: unknown): number {
  return error instanceof MqttSettingFailure ? configExitCode : 1
}

export interface Mqtt {
  /** Websockets whose paths do not begin with the base path of the API. */
  readonly sockets: readonly AnyWebsocketRoute[]
  /** The ports that are open: plain, and with TLS. */
  readonly ports: { readonly plain?: number; readonly tls?: number }
  readonly metrics: MqttMetrics | undefined
  stopListening(): void
  /** Disconnects all clients. */
  closeConnections(): Promise<void>
}

const defaultPort = 1883
const defaultTlsPort = 8883

type Cluster = Awaited<ReturnType<typeof import('#app/cluster').joinCluster>>

/** Opens the ports for MQTT. @throws MqttSettingFailure if a configured port or file cannot be used */
export async function openMqtt(
  config: Config,
  log: Log,
  { context, identity }: Assembly,
  isWritable: () => boolean,
  cluster: Cluster | undefined,
): Promise<Mqtt> {
  if (config.mqttPort === 'off') {
    return { sockets: [], ports: {}, metrics: undefined, stopListening: () => {}, closeConnections: async () => {} }
  }
  const { world } = context
  const topics = new Topics({
    ...context,
    ...context.devices,
    ...context.events,
    hasFreeTopics: config.hasMqttFreeTopics,
  })
  const connections = new Connections({
    world,
    topics,
    afterCommit: (callback) => context.system.gate.afterCommit(callback),
    principalOf: principalFinder(identity, context.audit),
    sessions: identity?.sockets,
    isWritable,
    bug: (error) => log.error({ err: error }, 'a bug: an MQTT packet'),
  })
  const socket = mqttSocket(connections)
  const sockets = [cluster?.tunnels.carry(socket) ?? socket]
  const opened = (transport: Transport) => {
    if (!cluster || cluster.node.isOwner) return connections.opened(transport)
    return new ForwardedConnection(transport, (client) => cluster.tunnels.connect(socket.path, client))
  }
  cluster?.node.onOwnerChanged(() => void connections.ownerChanged())
  const tls = await tlsOf(config)
  const listeners: Listener[] = []
  const open = async (name: string, given: number | undefined, fallback: number, files?: TlsFiles) => {
    try {
      const listener = await listen({ world, opened, host: config.host, port: given ?? fallback, tls: files })
      listeners.push(listener)
      return listener.port
    } catch (error) {
      for (const listener of given === undefined ? [] : listeners) listener.close()
      if (!(error instanceof CannotListen)) throw new MqttSettingFailure(`TLS_CERT, TLS_KEY: ${String(error)}`)
      if (given !== undefined) throw new MqttSettingFailure(`${name}: ${error.message}`)
      log.warn({}, `no MQTT: ${error.message}; set ${name} to another port, or MQTT_PORT to off`)
      return undefined
    }
  }
  const plain = await open('MQTT_PORT', config.mqttPort, defaultPort)
  const secure = tls && (await open('MQTT_TLS_PORT', config.mqttTlsPort, defaultTlsPort, tls))
  const ports = { ...(plain !== undefined && { plain }), ...(secure !== undefined && { tls: secure }) }
  if (listeners.length > 0) log.info({ ...ports }, 'MQTT is open')
  return {
    sockets,
    ports,
    metrics: { connectionCount: () => connections.size, counts: topics.counts },
    stopListening() {
      for (const listener of listeners) listener.close()
    },
    closeConnections: () => connections.stop(),
  }
}

async function tlsOf({ tlsCertificate, tlsKey }: Config): Promise<TlsFiles | undefined> {
  if (tlsCertificate === undefined || tlsKey === undefined) return undefined
  const read = async (name: string, path: string) => {
    try {
      return await readFile(path)
    } catch (error) {
      throw new MqttSettingFailure(`${name}: ${(error as Error).message}`)
    }
  }
  return { cert: await read('TLS_CERT', tlsCertificate), key: await read('TLS_KEY', tlsKey) }
}
