import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;

/** Stores a body, in chunks if the URL ends so, with the offer of HTTP/2 that HttpClient makes in its first request. */
public class Upload {
  public static void main(String[] arguments) throws Exception {
    String url = arguments[0];
    byte[] body = "x".repeat(100_000).getBytes();
    BodyPublisher whole = BodyPublishers.ofByteArray(body);
    BodyPublisher chunks = BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body));
    HttpRequest request = HttpRequest.newBuilder(URI.create(url)).PUT(url.endsWith("/chunks") ? chunks : whole).build();
    HttpResponse<String> response = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
    System.out.println(response.statusCode() + " " + response.version());
  }
}
