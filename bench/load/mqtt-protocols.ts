import { hellosStep, updateOf } from '#bench/load/own-link'
import { exactly, type Place, type Protocol } from '#bench/load/protocol'
import type { Step } from '#bench/load/raw-socket'

/** MQTT 3.1.1, quality of service 0. §2.2: a type, then the remaining length, seven bits a byte. */

const mqttPublish = 3

function mqttPacket(head: number, body: Buffer): Buffer {
  const length: number[] = []
  for (let rest = body.length; rest > 0 || length.length === 0; rest >>= 7)
    length.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0))
  return Buffer.concat([Buffer.of(head, ...length), body])
}

function mqttText(text: string): Buffer {
  return Buffer.concat([Buffer.of(text.length >> 8, text.length & 0xff), Buffer.from(text)])
}

/** CONNECT without a keep-alive, for a session that ends with the connection. */
export function mqttConnect({ number }: Place, user?: string): Step {
  const flags = user === undefined ? 0x02 : 0x82
  const texts = [`load${process.pid}-${number}`, ...(user === undefined ? [] : [user])]
  const body = Buffer.concat([mqttText('MQTT'), Buffer.of(4, flags, 0, 0), ...texts.map(mqttText)])
  return { send: mqttPacket(0x10, body), answered: exactly(0x20, 2, 0, 0) }
}

function mqttSubscribe(filter: string): Step {
  const body = Buffer.concat([Buffer.of(0, 1), mqttText(filter), Buffer.of(0)])
  return { send: mqttPacket(0x82, body), answered: exactly(0x90, 3, 0, 1, 0) }
}

export const mqtt: Protocol = {
  lengthOf(bytes, at) {
    let length = 0
    for (let place = at + 1, shift = 0; ; place++, shift += 7) {
      if (place >= bytes.length) return 0
      const byte = bytes[place] as number
      length |= (byte & 0x7f) << shift
      if (byte > 0x7f) continue
      const whole = place + 1 - at + length
      if ((bytes[at] as number) >> 4 === mqttPublish) return whole
      return at + whole > bytes.length ? 0 : -whole
    }
  },
  subscribe: (place) => [mqttConnect(place), mqttSubscribe('devices/+/changes')],
  introduce: (place) => [mqttConnect(place)],
  publish: (device, payload) =>
    mqttPacket(mqttPublish << 4, Buffer.concat([mqttText(`devices/${device}/changes`), payload])),
}

const mqttAcknowledged = 4
/** Quality of service 1, retained: the broker has the last message of each topic in its database. */
const mqttStoredHead = (mqttPublish << 4) | 0b0011

/** Only PUBACK counts as a delivery. §3.4: PUBACK has four bytes. */
export const mqttStored: Protocol = {
  ...mqtt,
  acknowledges: true,
  lengthOf(bytes, at) {
    const length = Math.abs(mqtt.lengthOf(bytes, at))
    if (at + length > bytes.length) return 0
    return (bytes[at] as number) >> 4 === mqttAcknowledged ? length : -length
  },
  publish(device, payload, { place }) {
    // A packet id is free again when its device sends next: a link has more devices than messages in flight.
    const packetId = Buffer.of((place + 1) >> 8, (place + 1) & 0xff)
    return mqttPacket(mqttStoredHead, Buffer.concat([mqttText(`devices/${device}/changes`), packetId, payload]))
  },
}

const linkTopic = mqttText('v1/link')

/** This server: gateways publish messages of the device connection, and users subscribe to all events. Contract 10. */
export const ownMqtt: Protocol = {
  ...mqtt,
  subscribe: (place) => [mqttConnect(place, 'reader'), mqttSubscribe('v1/events/+/+')],
  introduce: (place) => [
    mqttConnect(place, '*'),
    hellosStep(place.devices, (hello) => mqttPacket(mqttPublish << 4, Buffer.concat([linkTopic, hello]))),
  ],
  publish: (device) => mqttPacket(mqttPublish << 4, Buffer.concat([linkTopic, updateOf(device)])),
}

/** This server: like `ownMqtt`, but subscribers receive values as text instead of events. */
export const ownMqttState: Protocol = {
  ...ownMqtt,
  subscribe: (place) => [mqttConnect(place, 'reader'), mqttSubscribe('v1/state/#')],
  valueAt(bytes, at) {
    let place = at + 1
    while ((bytes[place++] as number) > 0x7f);
    return place + 2 + bytes.readUInt16BE(place)
  },
}

/** Like `ownMqtt`, but only PUBACK counts as a delivery: it is sent when the change is stored. */
export const ownMqttStored: Protocol = {
  ...ownMqtt,
  acknowledges: true,
  lengthOf(bytes, at) {
    const length = mqttStored.lengthOf(bytes, at)
    if (length < 0 && (bytes[at] as number) >> 4 === mqttPublish)
      throw new Error(bytes.toString('latin1', at, at - length))
    return length
  },
  publish(device, _, { place }) {
    const packetId = Buffer.of((place + 1) >> 8, (place + 1) & 0xff)
    return mqttPacket((mqttPublish << 4) | 0b0010, Buffer.concat([linkTopic, packetId, updateOf(device)]))
  },
}
