// Sound as input, for models that take samples: a file or the microphone, at the rate that the model was trained with.

const UNPROCESSED = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
const REFUSALS = {
  NotAllowedError: "the browser was not allowed to use the microphone. Allow it for this page, and press the button again",
  NotFoundError: "no microphone was found",
};

/** True if an input takes samples of sound: one long axis of int16 or float32. */
export function takesSamples(end) {
  const longest = Math.max(...end.shape, 0);
  return ["int16", "float32"].includes(end.type) && longest >= 160 && longest === end.elements;
}

/** The samples of a sound file at a rate, one channel, from -1 to 1. */
export async function samplesOf(file, rate) {
  const context = new OfflineAudioContext(1, 1, rate);
  const sound = await context.decodeAudioData(await file.arrayBuffer());
  return sound.getChannelData(0);
}

/** Samples from the microphone, as many as wanted, at a rate: as they are, because models were trained on such. */
export async function recorded(count, rate) {
  if (!navigator.mediaDevices) {
    throw new Error("this browser gives a page from here no microphone. Open the file from your disk, or by https");
  }
  const stream = await navigator.mediaDevices.getUserMedia({ audio: UNPROCESSED }).catch((error) => {
    throw new Error(REFUSALS[error.name] ?? error.message);
  });
  const context = new AudioContext({ sampleRate: rate });
  try {
    const source = context.createMediaStreamSource(stream);
    const tap = context.createScriptProcessor(1024, 1, 1);
    const samples = [];
    return await new Promise((resolve) => {
      tap.onaudioprocess = (event) => {
        samples.push(...event.inputBuffer.getChannelData(0));
        if (samples.length >= count) resolve(Float32Array.from(samples.slice(0, count)));
      };
      source.connect(tap);
      tap.connect(context.destination);
    });
  } finally {
    for (const track of stream.getTracks()) track.stop();
    await context.close();
  }
}

/** The loudest window of so many samples: where a word is, if the file is longer than the input. */
export function loudest(samples, count) {
  if (samples.length <= count) return samples;
  let sum = 0;
  let best = { sum: -1, start: 0 };
  for (let place = 0; place < samples.length; place += 1) {
    sum += samples[place] ** 2;
    if (place >= count) sum -= samples[place - count] ** 2;
    if (place >= count - 1 && sum > best.sum) best = { sum, start: place - count + 1 };
  }
  return samples.slice(best.start, best.start + count);
}
