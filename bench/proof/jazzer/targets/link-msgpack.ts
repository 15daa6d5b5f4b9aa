import { Packr } from 'msgpackr'
import { goodFrames, readFrame } from '#bench/proof/jazzer/link-frame'
import type { Target } from '#bench/proof/jazzer/target'
import { msgpackCodec } from '#link/msgpack-codec'

export const about = 'frames of a device in MessagePack'

const packr = new Packr({ useRecords: false })

export const seeds = goodFrames.map((frame): Uint8Array => packr.pack(frame))

export const fuzz: Target['fuzz'] = (bytes) => readFrame(msgpackCodec, true, bytes)
