/** 4 is MQTT 3.1.1. */
export type ProtocolVersion = 4 | 5
export type Qos = 0 | 1 | 2

/** MQTT 5.0 §2.1.2. */
export const packetTypes = {
  connect: 1,
  connack: 2,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  subscribe: 8,
  suback: 9,
  unsubscribe: 10,
  unsuback: 11,
  pingreq: 12,
  pingresp: 13,
  disconnect: 14,
  auth: 15,
} as const
