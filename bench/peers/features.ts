/** A feature of each system, by the system's name; `no` if absent. */
export interface Feature {
  readonly what: string
  readonly of: Readonly<Record<string, string>>
}

export const features: readonly Feature[] = [
  {
    what: 'Durable before it acknowledges',
    of: {
      'this server': 'yes: a write to the log (process) or an fsync (disk)',
      'nats-server': 'core: no, nothing is kept. JetStream, not used here: yes',
      mosquitto: 'quality 0 is not acknowledged; 1 and 2 are from memory, which is saved at intervals',
      redis: 'pub/sub: no, nothing is kept',
      'nginx nchan': 'no: in shared memory (Redis behind it if wanted)',
    },
  },
  {
    what: 'Access decided for each event',
    of: {
      'this server': 'yes, by role, device and service',
      'nats-server': 'by subject, when publishing and subscribing',
      mosquitto: 'by topic, at each delivery, where an ACL file or plugin is set (not here)',
      redis: 'by channel, when publishing and subscribing',
      'nginx nchan': 'by channel, when publishing and subscribing, where a request is asked first',
      aedes: 'by topic, at each delivery, where a function for it is given (not here)',
    },
  },
  {
    what: 'The full state to begin with',
    of: {
      'this server': 'yes, as of a position in the stream',
      'nats-server': 'core: no. JetStream: last message of a subject',
      mosquitto: 'the retained message of each topic',
      aedes: 'the retained message of each topic',
      redis: 'pub/sub: no',
      'nginx nchan': 'buffered messages of a channel',
    },
  },
  {
    what: 'Resumes without a gap',
    of: {
      'this server': 'yes, by offset, also over a restart',
      'nats-server': 'core: no. JetStream: yes',
      mosquitto: 'quality 1 and 2 in a lasting session, as far as its queue goes',
      redis: 'pub/sub: no',
      'nginx nchan': 'by message id, as far as the buffer goes',
      aedes: 'quality 1 and 2 in a lasting session',
      'socket.io': 'for a short while, if connectionStateRecovery is set',
    },
  },
  {
    what: 'Validates what it is sent',
    of: { 'this server': 'yes, by the types and ranges that devices declare' },
  },
]
