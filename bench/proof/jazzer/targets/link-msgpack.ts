import { goodFrames, readFrame } from '#bench/proof/jazzer/link-frame'
import type { Target } from '#bench/proof/jazzer/target'
import { encodeFrame } from '#link/codec'

export const about = 'frames of a device in MessagePack'

export const seeds = goodFrames.map((frame) => encodeFrame('msgpack', frame) as Uint8Array)

export const fuzz: Target['fuzz'] = (bytes) => readFrame('msgpack', bytes)
